"""The first passages of a query as a retrieval run ranked them, and which are relevant."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from django.db.models import Q

from corpus.judgments.models import PEOPLE
from corpus.models import Passage, Query, RankedList, RetrievalRun
from corpus.pooling import Ranking, top
from corpus.retrieval.toplist import scaled
from corpus.versions.crosswalk import excluded_in
from corpus.versions.effective import effective_labels
from corpus.versions.services import stored

AS_IT_IS: Final = "as it is"
MIN_MAX: Final = "min-max"
PLACES: Final = "places"


@dataclass(frozen=True)
class Candidates:
    """Passages in the retriever's order, with its scores as they came and from 0 to 1."""

    pids: list[str]
    raw: list[float]
    retriever: list[float]

    def only(self, known: Collection[str]) -> "Candidates":
        """Those of them that are known."""
        places = [n for n, pid in enumerate(self.pids) if pid in known]
        return Candidates(*([each[n] for n in places] for each in self._lists))

    @property
    def _lists(self) -> tuple[list[Any], list[Any], list[Any]]:
        return self.pids, self.raw, self.retriever


def scheme_of(run: RetrievalRun) -> str:
    """How a run's scores come to lie between 0 and 1 (docs/protocol.md 5.3, 5.4).

    A hybrid's do already; of others by min-max over each query's whole list; of a run without
    scores by the places.
    """
    if RankedList.objects.filter(run=run, scores__isnull=True).exists():
        return PLACES
    return AS_IT_IS if run.provenance.get("method") == "hybrid" else MIN_MAX


def candidates_of(
    run: RetrievalRun, queries: Sequence[Query], *, depth: int, scheme: str
) -> dict[int, Candidates]:
    """The first `depth` passages of each query, without those that it excludes."""
    version = stored(run.benchmark, run.corpus_version_id)
    excluded = excluded_in(version, queries) if version else {}
    found = {}
    for each in RankedList.objects.filter(run=run, query__in=[query.pk for query in queries]):
        ranking = Ranking(each.pids, each.scores)
        listed = top(ranking, len(each.pids), excluded=excluded.get(each.query_id, ()))
        raw = {pid: len(listed) - n if score is None else score
               for n, (pid, score) in enumerate(listed)}  # fmt: skip
        own = raw if scheme == AS_IT_IS else scaled(raw)
        first = list(raw)[:depth]
        found[each.query_id] = Candidates(
            first, [float(raw[pid]) for pid in first], [float(own[pid]) for pid in first]
        )
    return found


def relevant_of(run: RetrievalRun, queries: Sequence[Query]) -> dict[int, set[str]]:
    """The ids that are relevant to each query by the gold: imported, or given by people.

    Everybody sees a run's order, so labels that may not be shown now take no part, nor do those
    of machines.
    """
    version = stored(run.benchmark, run.corpus_version_id)
    if version is None:
        return {}
    about = Q(query__in=[query.pk for query in queries])
    pairs = [
        (each.query, each.passage)
        for each in effective_labels(version, about=about, shown_only=True).labels
        if (each.given.label if each.given and each.given.source in PEOPLE else each.base or 0) > 0
    ]
    names: Mapping[int, str] = dict(
        Passage.objects.filter(pk__in={pk for _, pk in pairs}).order_by().values_list("pk", "pid")
    )
    by_query = groupby(sorted(pairs), key=lambda pair: pair[0])
    return {query: {names[pk] for _, pk in group} for query, group in by_query}
