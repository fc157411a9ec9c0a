"""`manage.py build_release SLUG --version X --out DIR`: build it in this process."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.models import Benchmark
from corpus.versions.services import called
from evaluation.releases.building import carry_out, fail, is_free, rebuild
from evaluation.releases.models import Release
from evaluation.releases.services import start_here
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus


class Command(VerbCommand):
    help = "Build a release of a benchmark into a folder and list its faults."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version gives way to ours.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--version", required=True, help="semantic version, such as 0.1.0")
        parser.add_argument(
            "--out", required=True, type=Path, help="a folder that is not there yet"
        )
        parser.add_argument(
            "--final", action="store_true", help="refuse it while a check fails (default: a draft)"
        )
        parser.add_argument(
            "--agreement-bar",
            type=float,
            metavar="KAPPA",
            help="the least agreement of voters (Fleiss' kappa) that is wanted",
        )
        parser.add_argument(
            "--corpus-version", default="", help="what is released (default: the current one)"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["out"].resolve()
        try:
            release = self._build(options, folder)
        except OSError as error:
            raise CommandError(f"{folder} could not be written: {error.strerror}.") from None
        if options["json"]:
            self.stdout.write(json.dumps(summary(release, folder), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(lines(release, folder)))

    def _build(self, options: dict[str, Any], folder: Path) -> Release:
        slug, version = options["slug"], options["version"]
        benchmark = Benchmark.objects.filter(slug=slug).first()
        if benchmark is None:
            raise Refused(f"There is no benchmark “{slug}”.")
        if not is_free(folder):
            raise Refused(f"{folder} is not empty. Choose a folder that does not exist yet.")
        done = benchmark.releases.filter(version=version, status=RunStatus.DONE).first()
        if done is not None:
            rebuild(done, folder=folder)
            return done
        release = start_here(
            benchmark=benchmark,
            version=version,
            folder=folder,
            final=options["final"],
            agreement_bar=options["agreement_bar"],
            corpus=called(benchmark, options["corpus_version"]),
        )
        release.refresh_from_db()
        return finished(release)


def finished(release: Release) -> Release:
    """The release, built; raises Refused with what went wrong."""
    try:
        carry_out(release)
    except KeyboardInterrupt:
        fail(release, "It was stopped by hand.")
        raise CommandError("Stopped. Nothing was kept; the same command starts again.") from None
    release.refresh_from_db()
    if release.status != RunStatus.DONE:
        raise Refused(release.error or "It was stopped, or the database went away. Try again.")
    return release


def summary(release: Release, folder: Path) -> dict[str, Any]:
    """What --json prints."""
    return {
        "benchmark": release.benchmark.slug,
        "version": release.version,
        "state": release.state,
        "folder": str(folder),
        "counts": release.counts,
        "faults": release.faults,
        "files": release.files,
    }


def lines(release: Release, folder: Path) -> list[str]:
    """What is printed for people: counts per split, then the faults."""
    splits = release.counts["splits"].items()
    shown = ("queries", "aspects", "gold", "holes", "documents")
    return [
        f"{release.benchmark.slug} {release.version} ({release.state}) in {folder}",
        *(
            f"  {name}: " + ", ".join(f"{each[key]:,} {key}" for key in shown)
            for name, each in splits
        ),
        f"Faults: {len(release.faults) or 'none'}",
        *(f"  - {each['message']}" for each in release.faults),
    ]
