"""Measures of a benchmark's own retrieval runs: gold and lists out of the database, frozen.

Three golds (docs/protocol.md 2.7): base is the imported gold, refined adds the holes, expert also
takes out what an expert refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corpus.models import Benchmark, CorpusVersion, Domain, RankedList, RetrievalRun
from corpus.services.crosswalk import excluded_in
from corpus.services.versions import called, stored
from evaluation.content.frozen import frozen
from evaluation.content.view import View, read_queries, view_of
from evaluation.exporters.records import QueryRecord
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import STRICT, Profile
from evaluation.metrics.results import Scores, macro_mean
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score
from kit.errors import Refused


class GoldView(StrEnum):
    """Which labels count."""

    BASE = "base"
    REFINED = "refined"
    EXPERT = "expert"


@dataclass(frozen=True)
class RunScores:
    """One run's scores in each domain by its name; a domain without any list is not there."""

    run: RetrievalRun
    view: GoldView
    domains: Mapping[str, Scores]

    @property
    def means(self) -> dict[str, float | None]:
        """For each metric the unweighted mean over domains; None where a domain has none."""
        names = [name for each in self.domains.values() for name in each.metrics]
        return {
            name: macro_mean(each[name].mean for each in self.domains.values())
            for name in dict.fromkeys(names)
        }


def score_runs(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    metrics: str,
    view: GoldView = GoldView.REFINED,
    profile: Profile = STRICT,
) -> list[RunScores]:
    """Per-query values of each run against one view of the gold, as of one moment.

    Every query of a domain is in the mean if the view has gold for it, whether a run holds it or
    not. Raises Refused for runs of another benchmark, for metrics that do not exist, and for gold
    that contradicts itself.
    """
    if any(run.benchmark_id != benchmark.pk for run in runs):
        raise Refused("A retrieval run can be scored against its own benchmark only.")
    keys = {run.corpus_version_id for run in runs}
    if len(keys) > 1:
        raise Refused("These runs rank different corpus versions; score those of one.")
    try:
        wanted = read_metrics(metrics)
        with frozen():
            shown = view_of(benchmark, stored(benchmark, keys.pop() if keys else None))
            found: dict[int, dict[str, Scores]] = {run.pk: {} for run in runs}
            for name, domain in shown.splits.items():
                gold = gold_of(shown, domain, view)
                for pk, scores in _scored(runs, domain, gold, wanted, profile):
                    found[pk][name] = scores
    except MetricFault as fault:
        raise Refused(str(fault)) from None
    return [RunScores(run, view, found[run.pk]) for run in runs]


def gold_here(slug: str, *, domain: str, version: str, view: GoldView) -> Gold:
    """The gold of a benchmark's domain in a corpus version, both by name, by default the only
    domain and the current version. Raises Refused for what is not here."""
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        raise Refused(f"There is no benchmark {slug!r}.")
    with frozen():
        shown = view_of(benchmark, called(benchmark, version))
        known = {each.name: each for each in shown.splits.values()}
        if domain not in known and (domain or len(known) != 1):
            raise Refused(f"Choose a domain with --domain: {', '.join(known) or 'none is here'}.")
        return gold_of(shown, known[domain] if domain else next(iter(known.values())), view)


def gold_of(shown: View, domain: Domain, view: GoldView) -> Gold:
    """Labels, holes, aspects and excluded ids of a domain."""
    return gold_in(read_queries(shown, domain, with_answers=False), domain, view, shown.corpus)


def gold_in(
    records: Sequence[QueryRecord],
    domain: Domain,
    view: GoldView,
    version: CorpusVersion | None = None,
) -> Gold:
    """The same out of records that were read already, of a corpus version.

    Aspects are taken as far as they have come: what they do not cover yet is left out and counted.
    """
    labels = {each.qid: dict(_labels(each, view)) for each in records}
    return Gold.of(
        labels,
        aspects={each.qid: _aspects(each) for each in records if each.aspects},
        excluded=_excluded(domain, version, labels),
        base={each.qid: dict(_labels(each, GoldView.BASE)) for each in records},
        complete=False,
    )


def _excluded(
    domain: Domain, version: CorpusVersion | None, labels: Mapping[str, Mapping[str, int]]
) -> dict[str, list[str]]:
    """By query id; in a derived version what is gold stays, though it hold excluded text, too."""
    queries = list(domain.queries.exclude(excluded_ids=[]).order_by("pk"))
    if version is None or not version.is_derived:
        return {query.qid: query.excluded_ids for query in queries}
    found = excluded_in(version, queries)
    return {
        query.qid: sorted(
            pid for pid in found[query.pk] if labels.get(query.qid, {}).get(pid, 0) <= 0
        )
        for query in queries
    }


def _scored(
    runs: Sequence[RetrievalRun],
    domain: Domain,
    gold: Gold,
    metrics: Sequence[Metric],
    profile: Profile,
) -> Iterator[tuple[int, Scores]]:
    for run in runs:
        columns = ("query__qid", "pids", "scores")
        lists: Any = RankedList.objects.filter(run=run, query__domain=domain).values_list(*columns)
        if found := list(lists):
            yield run.pk, score(Run.of_lists(found), gold, metrics, profile)


def _labels(record: QueryRecord, view: GoldView) -> Iterator[tuple[str, int]]:
    for each in record.labels:
        label = getattr(each, view)
        if label is not None:
            yield each.passage, label


def _aspects(record: QueryRecord) -> dict[str, Aspect]:
    return {f"a{each.k}": Aspect(each.weight, each.passages) for each in record.aspects}
