"""One query of one run: the passages in their order, with labels and the aspects they support."""

from dataclasses import dataclass

from corpus.models import CorpusVersion, Passage, Query, RankedList, RetrievalRun
from corpus.pooling import Ranking, top
from corpus.versions.crosswalk import excluded_in
from corpus.versions.services import stored
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.exporters.records import QueryRecord
from evaluation.scores.services import GoldView

MOST = 100


@dataclass(frozen=True)
class Found:
    """A place of the list; `label` None is unjudged, `rank` None gold that was not returned."""

    rank: int | None
    pid: str
    score: float | None
    label: int | None
    is_hole: bool
    aspects: tuple[int, ...]
    passage: Passage | None


@dataclass(frozen=True)
class Drill:
    """The first places of a list and the gold that is not among them; aspects by their number."""

    places: list[Found]
    missing: list[Found]
    aspects: list[tuple[int, str, int, bool]]
    covered: int


def drill(run: RetrievalRun, query: Query, view: GoldView, *, depth: int) -> Drill:
    """A run's list for a query beside one view of the gold; excluded ids are dropped first."""
    version = stored(query.domain.benchmark, run.corpus_version_id)
    record = _record(query, version)
    row = RankedList.objects.filter(run=run, query=query).first()
    ranking = Ranking(row.pids, row.scores) if row else Ranking(())
    listed = top(ranking, min(depth, MOST), excluded=_excluded(query, version))
    labels = {each.passage: each for each in record.labels}
    supported: dict[str, list[int]] = {}
    for aspect in record.aspects:
        for pid in aspect.passages:
            supported.setdefault(pid, []).append(aspect.k)
    gold = [pid for pid, each in labels.items() if (getattr(each, view) or 0) > 0]
    passages = _passages(query, version, [*(pid for pid, _ in listed), *gold])

    def found(rank: int | None, pid: str, score: float | None) -> Found:
        label = labels.get(pid)
        value = getattr(label, view) if label else None
        is_hole = bool(label and label.is_hole and view != GoldView.BASE)
        aspects = tuple(sorted(supported.get(pid, ()))) if (value or 0) > 0 else ()
        return Found(rank, pid, score, value, is_hole, aspects, passages.get(pid))

    places = [found(rank, pid, score) for rank, (pid, score) in enumerate(listed, start=1)]
    seen = {pid for pid, _ in listed}
    reached = {k for place in places for k in place.aspects}
    return Drill(
        places=places,
        missing=[found(None, pid, None) for pid in gold if pid not in seen],
        aspects=[(a.k, a.content, a.weight, a.k in reached) for a in record.aspects],
        covered=len(reached),
    )


def _excluded(query: Query, version: CorpusVersion | None) -> set[str]:
    return excluded_in(version, [query]).get(query.pk, set()) if version else set()


def _record(query: Query, version: CorpusVersion | None) -> QueryRecord:
    shown = view_of(query.domain.benchmark, version, shown_only=True)
    return read_queries(shown, query.domain, only=query.pk, with_answers=False)[0]


def _passages(query: Query, version: CorpusVersion | None, pids: list[str]) -> dict[str, Passage]:
    versions = [version, CorpusVersion.objects.growing(query.domain.benchmark)]
    layers = [pk for each in versions if each for pk in (each.layers or [each.pk])]
    rows = Passage.objects.filter(version_id__in=layers, domain=query.domain, pid__in=set(pids))
    return {each.pid: each for each in rows}
