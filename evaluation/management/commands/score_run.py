"""`manage.py score_run RUN... --qrels GOLD`: measures of runs, without a database; or against the
gold of a benchmark here."""

import csv
import json
from argparse import RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.importers.reading import BadNames, names_of
from evaluation.metrics.comparing import HEADER, Compared, Scored, as_markdown, as_text, query_rows
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Gold
from evaluation.metrics.names import MEASURES, Metric, read_metrics
from evaluation.metrics.profiles import PROFILES, STRICT, Profile
from evaluation.metrics.reading.inputs import Inputs, read_inputs, read_joined
from evaluation.metrics.reading.rows import Names
from evaluation.metrics.reading.runs import read_run
from evaluation.metrics.reading.several import (
    ONLY,
    RunPath,
    files_of,
    gold_files,
    gold_names,
    paths_of,
    run_paths,
)
from evaluation.metrics.scoring import PerQuery, Scores, check_needs, score
from kit.errors import Refused
from kit.lists.csvfile import harmless

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


# Of evaluation.scores.services, which needs a database.
_VIEWS = ("base", "refined", "expert", "machine")
_SIDES = ("aspects", "base", "excluded")
# A gold by its name: of each domain the labels, and what was odd in their files.
Golds = dict[str, dict[str, tuple[Gold, Mapping[str, int]]]]


class Command(BaseCommand):
    help = (
        "Score runs against golds and print means, counts and rows. Needs no database, unless "
        "the gold is that of a benchmark here."
    )
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        known = "\n".join(f"  {each.name:15} {each.about}" for each in MEASURES.values())
        cut = "with a cut-off as in @10 where they take one"
        epilog = f"Metrics, {cut}:\n{known}\n\nMore in docs/metrics.md."
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=epilog,
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add(
            "run",
            nargs="+",
            help="a TREC run or score.json, also with .gz; a folder of them; a pattern as runs/*",
        )
        gold = parser.add_mutually_exclusive_group(required=True)
        gold.add_argument(
            "--qrels",
            action="append",
            metavar="GOLD",
            help="TREC, BEIR, BRIDGE or Bright-Pro gold; a folder with a file for each domain; "
            "once more, or a pattern, for each further gold",
        )
        gold.add_argument("--benchmark", metavar="SLUG", help="the gold of a benchmark here")
        add("--domain", default="", help="of the benchmark; its only one where none is given")
        add(
            "--domain-from",
            default="",
            metavar="PATTERN",
            help="how the runs' paths name domain and run, as in {run}/{domain}.run",
        )
        add(
            "--map",
            action="append",
            default=[],
            metavar="OURS=THEIRS",
            help="how JSON rows name a field, as in docid=id; once for each field",
        )
        add("--corpus-version", default="", help="of the benchmark (default: the current one)")
        add("--view", choices=_VIEWS, default="refined")
        add("--aspects", type=Path, help="Bright-Pro aspects, or qrels of subtopics")
        add("--base", type=Path, help="the original gold, to tell holes")
        add("--excluded", type=Path, help="ids to leave out of each list")
        add("--metrics", default=DEFAULT, help=f"names with commas (default {DEFAULT})")
        add("--profile", choices=list(PROFILES), default=STRICT.name)
        add("--relevant-from", "-l", type=int, default=1, help="lowest relevant label (default 1)")
        add("--complete", "-c", action="store_true", help="queries absent from the run count 0")
        add("--depth", "-M", type=int, help="cut every list here (default: the profile's)")
        add("--json", action="store_true", help="print JSON")
        add("--csv", action="store_true", help="print a table as CSV")
        add("--markdown", action="store_true", help="print tables as Markdown")
        add("--per-query", action="store_true", help="print the value of each query, too")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["relevant_from"] < 1:
            raise CommandError("--relevant-from: a relevant label is at least 1.")
        if options["depth"] is not None and options["depth"] < 1:
            raise CommandError("--depth: a list is cut after at least 1 passage.")
        if sum(options[form] for form in ("json", "csv", "markdown")) > 1:
            raise CommandError("Give one of --json, --csv and --markdown.")
        profile = replace(PROFILES[options["profile"]], relevant_from=options["relevant_from"])
        if options["complete"]:
            profile = replace(profile, counts_absent=True)
        if options["depth"]:
            profile = replace(profile, depth=options["depth"])
        try:
            options["map"] = names_of(options["map"])
            metrics = read_metrics(options["metrics"])
            runs = paths_of(options["run"])
            golds = paths_of(options["qrels"] or ())
            if _is_one(runs, golds, options):
                self._one(runs[0], golds, metrics, profile, options)
            else:
                self._several(runs, golds, metrics, profile, options)
        except BadNames as fault:
            raise CommandError(f"--map: {fault}") from None
        except (MetricFault, Refused) as fault:
            raise CommandError(str(fault)) from None

    def _one(
        self,
        run: Path,
        golds: list[Path],
        metrics: list[Metric],
        profile: Profile,
        options: dict[str, Any],
    ) -> None:
        file, gold, notes = inputs = _inputs(run, golds, options, profile)
        check_needs(gold, metrics)
        scores = _with_file(score(file.run, gold, metrics, profile), file.repeated)
        if options["json"]:
            found = {"run": run.name, "name": file.name, "notes": notes}
            found |= scores.as_json(per_query=options["per_query"])
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            for line in lines(run.name, inputs, scores, options["per_query"]):
                self.stdout.write(line)

    def _several(
        self,
        runs: list[Path],
        golds: list[Path],
        metrics: list[Metric],
        profile: Profile,
        options: dict[str, Any],
    ) -> None:
        per_query = options["per_query"]
        if per_query and not (options["json"] or options["csv"]):
            raise Refused("--per-query of several runs goes with --json or --csv.")
        paths, read = _named(runs, golds, profile, options)
        for gold in (gold for domains in read.values() for gold, _ in domains.values()):
            check_needs(gold, metrics)
        compared = Compared(list(_scored(paths, read, metrics, profile, options["map"])))
        if options["json"]:
            found = compared.as_json(per_query=per_query)
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        elif options["csv"]:
            self._csv(compared, per_query=per_query)
        else:
            for line in (as_markdown if options["markdown"] else as_text)(compared):
                self.stdout.write(line)

    def _csv(self, compared: Compared, *, per_query: bool) -> None:
        writer = csv.writer(self.stdout, lineterminator="\n")
        if per_query:
            writer.writerow(["gold", "run", "domain", "query", "metric", "value", "undefined"])
            writer.writerows(map(harmless, row) for row in query_rows(compared))
            return
        writer.writerow([*HEADER, *compared.metrics])
        writer.writerows(map(harmless, [*row[:-1], *row[-1]]) for row in compared.rows())


def _is_one(runs: list[Path], golds: list[Path], options: dict[str, Any]) -> bool:
    """Whether one file is scored against one gold, and not put into a table."""
    files = len(runs) == 1 and len(golds) <= 1 and not any(map(Path.is_dir, [*runs, *golds]))
    return files and not (options["csv"] or options["markdown"] or options["domain_from"])


def _inputs(run: Path, golds: list[Path], options: dict[str, Any], profile: Profile) -> Inputs:
    """The files, or the run's file with the gold of a benchmark. Raises Refused, MetricFault."""
    if golds:
        return read_inputs(
            run,
            golds[0],
            **{each: options[each] for each in _SIDES},
            profile=profile,
            names=options["map"],
        )
    from evaluation.scores.services import GoldView, gold_here

    _check_own(options)
    gold = gold_here(
        options["benchmark"],
        domain=options["domain"],
        version=options["corpus_version"],
        view=GoldView(options["view"]),
    )
    return read_run(run, options["map"]), gold, {}


def _check_own(options: dict[str, Any]) -> None:
    if own := [f"--{name}" for name in _SIDES if options[name]]:
        raise Refused(f"{', '.join(own)}: a benchmark brings its own.")


def _named(
    runs: list[Path], golds: list[Path], profile: Profile, options: dict[str, Any]
) -> tuple[list[RunPath], Golds]:
    """The run files with what they are of, and the golds of their domains, read."""
    pattern = options["domain_from"]
    if options["benchmark"]:
        return _of_benchmark(runs, pattern, options)
    of_gold = dict(zip(gold_names(golds), map(gold_files, golds), strict=True))
    domains = dict.fromkeys(domain for files in of_gold.values() for domain in files)
    if len(domains) > 1 and ONLY in domains:
        raise Refused("--qrels: golds are files, or folders with a file for each domain; not both.")
    paths = run_paths(files_of(runs), domains, domain_from=pattern)
    wanted = {each.domain for each in paths}
    sides = {name: gold_files(options[name]) for name in _SIDES if options[name]}
    if faults := [
        f"--{name}: there is no file of the domain {domain or 'of the gold'}."
        for name, files in sides.items()
        for domain in sorted(wanted - files.keys())
    ]:
        raise MetricFault.of(faults)
    return paths, {
        name: {
            domain: read_joined(
                file,
                **{side: found[domain] for side, found in sides.items()},
                profile=profile,
                names=options["map"],
            )
            for domain, file in files.items()
            if domain in wanted
        }
        for name, files in of_gold.items()
    }


def _of_benchmark(
    runs: list[Path], pattern: str, options: dict[str, Any]
) -> tuple[list[RunPath], Golds]:
    from evaluation.scores.services import GoldView, domains_here, golds_here

    _check_own(options)
    slug, domain = options["benchmark"], options["domain"]
    known = domains_here(slug)
    if domain and domain not in known:
        raise Refused(f"Choose a domain with --domain: {', '.join(known) or 'none is here'}.")
    only = domain or (known[0] if len(known) == 1 else "")
    paths = run_paths(files_of(runs), [ONLY] if only else known, domain_from=pattern)
    wanted = {each.domain or only for each in paths}
    view, version = GoldView(options["view"]), options["corpus_version"]
    found = golds_here(slug, wanted, version=version, view=view)
    return paths, {slug: {"" if only else name: (gold, {}) for name, gold in found.items()}}


def _scored(
    paths: list[RunPath], golds: Golds, metrics: list[Metric], profile: Profile, names: Names
) -> Iterator[Scored]:
    """Each file is read once and let go before the next one."""
    shown = {each.path: each.path.name for each in paths}
    twice = {name for name, times in Counter(shown.values()).items() if times > 1}
    for each in paths:
        found = read_run(each.path, names)
        file = each.path.as_posix() if shown[each.path] in twice else shown[each.path]
        for name, domains in golds.items():
            if each.domain in domains:
                gold, _ = domains[each.domain]
                scores = _with_file(score(found.run, gold, metrics, profile), found.repeated)
                yield Scored(name, each.run, each.domain, file, found.name, scores, found.notes)


def _with_file(scores: Scores, repeated: int) -> Scores:
    """The scores with the repetitions counted that reading took out."""
    return replace(
        scores, counts={**scores.counts, "repeated": scores.counts["repeated"] + repeated}
    )


def lines(run: str, inputs: Inputs, scores: Scores, per_query: bool) -> Iterator[str]:
    """What is printed for people; rows by query as trec_eval prints them."""
    if per_query:
        for each in scores.metrics.values():
            for qid, value, why in each.rows():
                shown = f"undefined: {why}" if value is None else f"{value:.6f}"
                yield f"{each.name}\t{qid}\t{shown}"
        yield ""
    file, _, notes = inputs
    yield f"{run} {f'({file.name}) ' if file.name else ''}profile {scores.profile}"
    width = max(map(len, scores.metrics))
    for each in scores.metrics.values():
        yield f"  {each.name:{width}}  {_mean(each)}"
    for name, count in scores.counts.items():
        if name == "queries" or (count and name != "present"):
            words = _COUNTS.get(name, name)
            if name == "without_gold" and PROFILES[scores.profile].counts_unanswerable:
                words = "of them without a relevant passage, counted 0"
            yield f"  {count:,} {words}"
    for what, count in notes.items():
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
