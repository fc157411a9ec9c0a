"""Adopt a run from the shell, or take the pool that a filter leaves."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from debate.adoption.services import adopt_run, preview_adoption, undo_adoption
from debate.filters.services import keep_pairs
from debate.models import DebateRun
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Let the trial labels of a finished run count, and bring its open pairs before people. "
        "With --undo, take that back. With --keep, make a pool of the pairs that a filter run did "
        "not discard instead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, help="the run's number, as run_debates prints it")
        parser.add_argument("--keep", action="store_true", help="make the filter's pool")
        parser.add_argument("--preview", action="store_true", help="tell what it would change")
        parser.add_argument("--undo", action="store_true", help="take the adoption back")
        parser.add_argument("--name", default="", help="the new pool's name")

    def handle(self, *args: Any, **options: Any) -> None:
        run = DebateRun.objects.filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        if options["name"] and not options["keep"]:
            raise CommandError("--name names the pool that --keep makes.")
        if options["keep"]:
            pool = keep_pairs(run=run, name=options["name"], actor=None)
            pairs = pool.provenance["pairs"]
            self.stdout.write(f"Pool {pool.pk} ({pool.name}): {pairs} pairs kept")
            return
        if options["preview"]:
            self._preview(run)
            return
        if options["undo"]:
            undone = undo_adoption(run=run, actor=None)
            self.stdout.write(
                f"Run {run.pk}: {undone['waiting']} labels are on trial again, "
                f"{undone['restored']} stand again, {undone['cases']} cases were withdrawn"
            )
            return
        counts = adopt_run(run=run, actor=None)
        self.stdout.write(
            f"Run {run.pk}: {counts['standing']} labels stand now, {counts['weaker']} gave way to "
            f"weightier ones, {counts['cases']} cases were opened"
        )

    def _preview(self, run: DebateRun) -> None:
        found = preview_adoption(run)
        self.stdout.write(
            f"Run {run.pk}: {found['stands']['total']} labels would stand where none does, "
            f"{found['replaces']['total']} take the place of one, "
            f"{found['weaker']['total']} be history, "
            f"{found['cases']} pairs come before people ({found['joined']} have a case already)"
        )
