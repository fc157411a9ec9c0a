"""`manage.py score_run RUN --qrels FILE`: measures of one run, without a database; or against the
gold of a benchmark here."""

import json
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.names import MEASURES, read_metrics
from evaluation.metrics.profiles import PROFILES, STRICT, Profile
from evaluation.metrics.reading.inputs import Inputs, read_inputs
from evaluation.metrics.reading.runs import read_run
from evaluation.metrics.scoring import PerQuery, Scores, check_needs, score
from evaluation.scores.services import GoldView, gold_here
from kit.errors import Refused

DEFAULT = "nDCG@10,recall@100,MAP,MRR"
_COUNTS = {
    "queries": "queries in the gold",
    "without_gold": "of them without a relevant passage, skipped",
    "absent": "of them absent from the run",
    "empty_lists": "of them with an empty list",
    "not_in_gold": "queries of the run that the gold does not know, left out",
    "passages": "passages ranked",
    "repeated": "passages named again in a list",
    "excluded": "excluded passages taken out",
    "excluded_not_returned": "excluded ids that the run does not hold",
    "beyond_depth": "passages beyond the depth, cut",
    "tied": "passages that share their score",
    "queries_with_ties": "queries with such passages",
}


class Command(BaseCommand):
    help = (
        "Score one run against a gold and print means, counts and rows. Needs no database, unless "
        "the gold is that of a benchmark here."
    )
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        known = "\n".join(f"  {each.name:14} {each.about}" for each in MEASURES.values())
        epilog = f"Metrics, each with a cut-off as in @10:\n{known}\n\nMore in docs/metrics.md."
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=epilog,
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("run", type=Path, help="a TREC run or score.json, also with .gz")
        gold = parser.add_mutually_exclusive_group(required=True)
        gold.add_argument("--qrels", type=Path, help="TREC, BEIR, BRIDGE or Bright-Pro gold")
        gold.add_argument("--benchmark", metavar="SLUG", help="the gold of a benchmark here")
        add("--domain", default="", help="of the benchmark; its only one where none is given")
        add("--corpus-version", default="", help="of the benchmark (default: the current one)")
        add("--view", choices=[str(v) for v in GoldView], default=str(GoldView.REFINED))
        add("--aspects", type=Path, help="Bright-Pro aspects, or qrels of subtopics")
        add("--base", type=Path, help="the original gold, to tell holes")
        add("--excluded", type=Path, help="ids to leave out of each list")
        add("--metrics", default=DEFAULT, help=f"names with commas (default {DEFAULT})")
        add("--profile", choices=list(PROFILES), default=STRICT.name)
        add("--relevant-from", type=int, default=1, help="the lowest relevant label (default 1)")
        add("--json", action="store_true", help="print JSON")
        add("--per-query", action="store_true", help="print the value of each query, too")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["relevant_from"] < 1:
            raise CommandError("--relevant-from: a relevant label is at least 1.")
        profile = replace(PROFILES[options["profile"]], relevant_from=options["relevant_from"])
        paths = {name: options[name] for name in ("run", "qrels", "aspects", "excluded", "base")}
        try:
            metrics = read_metrics(options["metrics"])
            inputs = _inputs(options, paths, profile)
            check_needs(inputs.gold, metrics)
            scores = score(inputs.run.run, inputs.gold, metrics, profile)
        except (MetricFault, Refused) as fault:
            raise CommandError(str(fault)) from None
        scores = replace(scores, counts=_with_file(scores, inputs))
        if options["json"]:
            found = {"run": options["run"].name, "name": inputs.run.name, "notes": inputs.notes}
            found |= scores.as_json(per_query=options["per_query"])
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            for line in lines(options["run"].name, inputs, scores, options["per_query"]):
                self.stdout.write(line)


def _inputs(options: dict[str, Any], paths: dict[str, Path], profile: Profile) -> Inputs:
    """The files, or the run's file beside the gold of a benchmark. Raises Refused, MetricFault."""
    if not options["benchmark"]:
        return read_inputs(**paths, profile=profile)
    own = [f"--{name}" for name in ("aspects", "base", "excluded") if options[name]]
    if own:
        raise Refused(f"{', '.join(own)}: a benchmark brings its own.")
    gold = gold_here(
        options["benchmark"],
        domain=options["domain"],
        version=options["corpus_version"],
        view=GoldView(options["view"]),
    )
    return Inputs(read_run(options["run"]), gold, {})


def _with_file(scores: Scores, inputs: Inputs) -> dict[str, int]:
    """The counts, with the repetitions that reading took out."""
    repeated = scores.counts["repeated"] + inputs.run.repeated
    return {**scores.counts, "repeated": repeated}


def lines(run: str, inputs: Inputs, scores: Scores, per_query: bool) -> Iterator[str]:
    """What is printed for people; rows by query as trec_eval prints them."""
    if per_query:
        for each in scores.metrics.values():
            for qid, value, why in each.rows():
                shown = f"undefined: {why}" if value is None else f"{value:.6f}"
                yield f"{each.name}\t{qid}\t{shown}"
        yield ""
    yield f"{run} {f'({inputs.run.name}) ' if inputs.run.name else ''}profile {scores.profile}"
    width = max(map(len, scores.metrics))
    for each in scores.metrics.values():
        yield f"  {each.name:{width}}  {_mean(each)}"
    for name, count in scores.counts.items():
        if name == "queries" or (count and name != "present"):
            yield f"  {count:,} {_COUNTS.get(name, name)}"
    for what, count in inputs.notes.items():
        yield f"  note: {what} ({count:,})"


def _mean(each: PerQuery) -> str:
    """The mean with the number of queries, and the other mean where absent queries count 0."""
    if each.mean is None:
        return "undefined: " + (", ".join(each.skipped) or "no query")
    found = f"{each.mean:.4f}  over {each.scored:,}"
    if each.mean_of_present is not None and each.mean_of_present != each.mean:
        found += f"; {each.mean_of_present:.4f} over those in the run"
    skipped = ", ".join(f"{count:,} {why}" for why, count in each.skipped.items())
    return found + (f"; skipped: {skipped}" if skipped else "")
