"""`manage.py reproduce`: which figures of the papers this installation reproduces."""

import csv
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CorpusVersion
from evaluation.management.commands.leaderboard import current_sheet
from evaluation.published.services import tables
from evaluation.reproduction import services as reproduction
from evaluation.reproduction.evidence import score_missing
from evaluation.reproduction.services import Figure, State
from kit.lists.csvfile import harmless
from kit.lists.report_tables import csv_header, csv_rows
from kit.management.verbs import VerbCommand

_PAPERS = tuple(dict.fromkeys(each.paper for each in tables().values()))


class Command(VerbCommand):
    help = (
        "Print the figures of the papers with ours beside them: reproduced, differs, or not tried "
        "here and what that would take. Scores what was imported or run and is not scored yet. "
        "Ends with an error where a figure differs without a known reason."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--paper", choices=_PAPERS, help="only the figures of one")
        parser.add_argument(
            "--benchmark", default="", help="only what this one holds (default: all)"
        )
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table here")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = options["benchmark"]
        benchmarks = [benchmark_named(asked)] if asked else list(Benchmark.objects.order_by("pk"))
        for benchmark in benchmarks:
            self._score(benchmark)
        found = [
            each
            for each in reproduction.figures((benchmark, True) for benchmark in benchmarks)
            if options["paper"] in (None, each.table.paper)
        ]
        if (path := options["csv"]) is not None:
            _write(path, found)
        else:
            for each in found:
                self.stdout.write(_words(each))
        for paper, sentence in reproduction.summary(found):
            self.stdout.write(f"{paper}: {sentence}")
        if count := sum(each.state is State.DIFFERS for each in found):
            raise CommandError(f"{count} figures differ without a known reason.")

    def _score(self, benchmark: Benchmark) -> None:
        def score(version: CorpusVersion | None, metric: str, profile: str) -> None:
            current_sheet(benchmark, version, metric=metric, profile=profile)

        score_missing(benchmark, score)


def _write(path: Path, found: list[Figure]) -> None:
    table = reproduction.as_table(found)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(csv_header(table))
            writer.writerows([harmless(value) for value in row] for row in csv_rows(table))
    except OSError as fault:
        raise CommandError(f"{path} cannot be written: {fault.strerror}.") from fault


def _words(each: Figure) -> str:
    line = f"{each.state}: {each.table.paper}, {each.table.title}, {each.name}: {each.printed:g}"
    if each.found is not None:
        line += f", ours {each.found.ours:.6g} ({each.difference:+.3g}, within "
        line += f"{each.found.tolerance:.2g}; {each.found.kind}: {each.found.source})"
    return f"{line}. {each.why}" if each.why else line
