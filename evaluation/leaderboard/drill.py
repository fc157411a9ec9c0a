"""One query of one run: the passages in their order, with labels and the aspects they support."""

from typing import Any

from corpus.models import CorpusVersion, Passage, Query, RankedList, RetrievalRun
from corpus.pooling import Ranking, top
from corpus.versions.crosswalk import excluded_in
from corpus.versions.services import stored
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.scores.services import GoldView, labels_in

MAX_DEPTH = 100


def drill(run: RetrievalRun, query: Query, view: GoldView, *, depth: int) -> dict[str, Any]:
    """A run's list for a query with the labels of one view; excluded ids are dropped first.

    `places` are the first rows of the list, `missing` the gold that is not among them, `aspects`
    (number, content, weight, whether the list covers it); `covered` counts these. A row without a
    label is unjudged, one without a rank was not returned; of machine gold `machine` is its source.
    """
    version = stored(query.domain.benchmark, run.corpus_version_id)
    shown = view_of(query.domain.benchmark, version, shown_only=True)
    record = read_queries(shown, query.domain, only=query.pk, with_answers=False)[0]
    row = RankedList.objects.filter(run=run, query=query).first()
    ranking = Ranking(row.pids, row.scores) if row else Ranking(())
    excluded = excluded_in(version, [query]).get(query.pk, set()) if version else set()
    listed = top(ranking, min(depth, MAX_DEPTH), excluded=excluded)
    labels, base = labels_in(record, view), labels_in(record, GoldView.BASE)
    machine = record.machine_gold if view == GoldView.MACHINE else {}
    supported: dict[str, list[int]] = {}
    for aspect in record.aspects:
        own = [each.passage for each in aspect.machine if each.passage in machine]
        for pid in (*aspect.supporting, *own):
            supported.setdefault(pid, []).append(aspect.k)
    gold = [pid for pid, label in labels.items() if label > 0]
    passages = _passages(query, version, [*(pid for pid, _ in listed), *gold])

    def row_of(rank: int | None, pid: str, score: float | None) -> dict[str, Any]:
        value = labels.get(pid)
        is_hole = (value or 0) > 0 and not base.get(pid, 0) > 0
        aspects = tuple(sorted(supported.get(pid, ()))) if (value or 0) > 0 else ()
        return {
            "rank": rank,
            "pid": pid,
            "score": score,
            "label": value,
            "is_hole": is_hole,
            "aspects": aspects,
            "machine": machine[pid].source if pid in machine else "",
            "passage": passages.get(pid),
        }

    places = [row_of(rank, pid, score) for rank, (pid, score) in enumerate(listed, start=1)]
    seen = {pid for pid, _ in listed}
    reached = {k for place in places for k in place["aspects"]}
    return {
        "places": places,
        "missing": [row_of(None, pid, None) for pid in gold if pid not in seen],
        "aspects": [(a.k, a.content, a.weight, a.k in reached) for a in record.aspects],
        "covered": len(reached),
    }


def _passages(query: Query, version: CorpusVersion | None, pids: list[str]) -> dict[str, Passage]:
    versions = [version, CorpusVersion.objects.growing(query.domain.benchmark)]
    layers = [pk for each in versions if each for pk in (each.layers or [each.pk])]
    rows = Passage.objects.filter(version_id__in=layers, domain=query.domain, pid__in=set(pids))
    return {each.pid: each for each in rows}
