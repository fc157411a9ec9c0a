"""Whether an exported record is what was written."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kit.lists.chained import Broken, read_chained


class Command(BaseCommand):
    help = "Check a record that was exported: that its events follow each other."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--older",
            type=Path,
            metavar="FILE",
            help="a record exported earlier: every event of it has to stand here as it stood there",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        events, chain = _read(options["file"])
        unread = ""
        if options["older"]:
            older, _ = _read(options["older"])
            if changed := [key for key in older if not _is_same(events.get(key), older[key])]:
                raise CommandError(
                    f"Changed or gone since: event {changed[0]}, {len(changed)} in all."
                )
            # Anybody who changes a file can write that: the number has to be seen.
            if kept := sum(_is_kept_back(events[key], older[key]) for key in older):
                unread = f" Details of {kept:,} were kept back in one of the files: not compared."
        self.stdout.write(f"{len(events):,} events, each as it was written.{unread} Chain: {chain}")


def _is_same(event: dict[str, Any] | None, older: dict[str, Any]) -> bool:
    """Whether both say the same, as far as both were exported by somebody who might see it."""
    if event is None:
        return False
    if _is_kept_back(event, older):
        return {**event, "data": {}} == {**older, "data": {}}
    return event == older


def _is_kept_back(*events: dict[str, Any]) -> bool:
    return any("kept_back" in each.get("data", {}) for each in events)


def _read(path: Path) -> tuple[dict[int, dict[str, Any]], str]:
    events: dict[int, dict[str, Any]] = {}
    chain = ""
    try:
        with path.open(encoding="utf-8") as lines:
            for event, link in read_chained(lines):
                # Who it was stands in `actor_id`; their name may change.
                event.pop("actor", None)
                events[event["id"]], chain = event, link
    except (Broken, OSError, ValueError, KeyError) as error:
        raise CommandError(f"{path}: {error}") from error
    return events, chain
