"""`manage.py leaderboard SLUG`: score every run of a benchmark and print one board."""

import json
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CorpusVersion
from corpus.versions.services import called
from evaluation.leaderboard import noise
from evaluation.leaderboard import services as leaderboard
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.scores import sheets
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.errors import Refused
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus


class Command(VerbCommand):
    help = (
        "Score every retrieval run of a benchmark under its golds, keep the scores for the "
        "screens, and print one board. What was scored already and has not changed is read. With "
        "--noise labels are drawn anew as often as they may be wrong, and systems are marked that "
        "this could give another place; without it as the last check of the board has it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--metric", default=leaderboard.DEFAULT, help="any of score_run")
        parser.add_argument("--profile", choices=list(PROFILES), default=STRICT.name)
        parser.add_argument("--view", choices=[str(v) for v in GoldView], default="refined")
        parser.add_argument(
            "--corpus-version", default="", help="whose runs (default: the current version)"
        )
        parser.add_argument("--noise", action="store_true", help="check what label noise could do")
        parser.add_argument(
            "--by-audits", action="store_true", help="labels are as often wrong as audits found"
        )
        parser.add_argument(
            "--if-relevant", type=float, help="share of relevant ones that is right"
        )
        parser.add_argument("--if-not", type=float, help="share of irrelevant ones that is wrong")
        parser.add_argument("--draws", type=int, default=200, help="10 to 1,000")
        parser.add_argument("--json", action="store_true", help="print the board as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        version = called(benchmark, options["corpus_version"])
        asked = {"metric": options["metric"], "profile": options["profile"]}
        sheet = current_sheet(benchmark, version, **asked)
        board = leaderboard.leaderboard_of(sheet, metric=options["metric"], view=options["view"])
        if options["noise"]:
            check_noise(benchmark, version, options)
        _, places = noise.marks_of(board, sheet)
        if options["json"]:
            self.stdout.write(json.dumps(as_data([leaderboard.as_table(board, places)])[0]))
            return
        self.stdout.write(f"{board.metric}, {board.view}: {', '.join(board.domains)}")
        for line in board.lines:
            self.stdout.write(_words(line, places.get(line.run.pk)))
        if places:
            self.stdout.write("⇅ places that label noise could swap")


def check_noise(
    benchmark: Benchmark, version: CorpusVersion | None, options: dict[str, Any]
) -> None:
    """Ranks of the board under label noise, computed here. Raises Refused."""
    given = {"if_relevant": options["if_relevant"], "if_not": options["if_not"]}
    missing = [name for name, share in given.items() if share is None]
    if missing and not options["by_audits"]:
        needed = " and ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise Refused(f"Give {needed}, or take the shares of audits with --by-audits.")
    check = noise.request_check(
        benchmark=benchmark,
        version=version,
        actor=None,
        claimed=True,
        **{name: options[name] for name in ("metric", "view", "by_audits", "draws")},
        **{name: share for name, share in given.items() if share is not None},
    )
    noise.carry_out(check)
    check.refresh_from_db()
    if check.status != RunStatus.DONE:
        raise Refused(check.error or f"The check ended {check.status}.")


def current_sheet(
    benchmark: Benchmark,
    version: CorpusVersion | None,
    matched_with: CorpusVersion | None = None,
    *,
    metric: str,
    profile: str,
) -> ScoreSheet:
    """The newest sheet if it is current and has the metric, else a new one, computed here. Raises
    Refused."""
    newest = sheets.latest(benchmark, version, matched_with, profile)
    has_it = newest is not None and not sheets.lacks(newest, sheets.metric_name(metric))
    if newest is not None and has_it and sheets.is_current(newest):
        return newest
    sheet = sheets.request_sheet(
        benchmark=benchmark,
        version=version,
        matched_with=matched_with,
        profile=profile,
        metric=metric,
        actor=None,
        claimed=True,
    )
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    if sheet.status != RunStatus.DONE:
        raise Refused(sheet.error or f"The computation ended {sheet.status}.")
    return sheet


def _words(line: leaderboard.Line, places: tuple[int, int] | None) -> str:
    if line.rank is None or line.mean is None:
        return f"   -  {line.run.name}: misses a domain"
    ranks = f" ({line.rank_low} to {line.rank_high})"
    interval = f" ({line.low:.4f} to {line.high:.4f})"
    moved = f", {line.shift:+d} places" if line.shift else ""
    swapped = f", ⇅ {places[0]} to {places[1]}" if places else ""
    return f"{line.rank:4}{ranks} {line.run.name}: {line.mean:.4f}{interval}{moved}{swapped}"
