"""`manage.py compare_versions SLUG`: the systems of two corpus versions, before and after."""

import json
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CorpusVersion
from corpus.versions.services import called
from evaluation.leaderboard import services as leaderboard
from evaluation.leaderboard.before_after import (
    Comparison,
    SystemChange,
    compare_sides,
    matched,
    side_of,
    systems_table,
)
from evaluation.management.commands.leaderboard import current_sheet
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.scores.services import GoldView
from kit.errors import Refused
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Compare the retrieval runs of two corpus versions, system by system, each over its own "
        "corpus or over the passages that both hold. What is not scored yet is scored here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        views = [str(view) for view in GoldView]
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--before", default="", help="a version (default: the texts as loaded)")
        parser.add_argument("--after", default="", help="a version (default: the current one)")
        parser.add_argument("--view-before", choices=views, default=str(GoldView.REFINED))
        parser.add_argument("--view-after", choices=views, default=str(GoldView.REFINED))
        parser.add_argument("--metric", default=leaderboard.DEFAULT, help="any of score_run")
        parser.add_argument("--profile", choices=list(PROFILES), default=STRICT.name)
        parser.add_argument("--matched", action="store_true", help="over what both versions hold")
        parser.add_argument("--json", action="store_true", help="print the table as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        found = _compared(benchmark, options)
        if options["json"]:
            self.stdout.write(json.dumps(as_data([systems_table(found)])[0]))
            return
        self.stdout.write(f"{found.metric}: {', '.join(found.domains)}")
        for line in found.lines:
            self.stdout.write(_words(line))


def _compared(benchmark: Benchmark, options: dict[str, Any]) -> Comparison:
    first = called(benchmark, options["before"])
    if not options["before"]:
        first = CorpusVersion.objects.loaded(benchmark)
    second = called(benchmark, options["after"])
    if first is None or second is None:
        raise Refused("Nothing was loaded yet.")
    asked = {"metric": options["metric"], "profile": options["profile"]}
    for version, other in ((first, second), (second, first)):
        current_sheet(benchmark, version, other if options["matched"] else None, **asked)
    sides = [
        side_of(benchmark, version, options[view], options["profile"])
        for version, view in ((first, "view_before"), (second, "view_after"))
    ]
    return compare_sides(
        *(matched(*sides) if options["matched"] else sides), metric=options["metric"]
    )


def _words(line: SystemChange) -> str:
    if line.gain.value is None:
        return f"{line.name}: no domain in which it has values on both sides"
    interval = f"({line.gain.low:+.4f} to {line.gain.high:+.4f})"
    ranks = f"rank {line.first.rank} to {line.second.rank}"
    means = f"{line.first.mean:.4f} to {line.second.mean:.4f}"
    return f"{line.name}: {means}, {line.gain.value:+.4f} {interval}, {ranks}"
