"""One ranking of a retrieval run, with its passages and their labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.models import CorpusVersion, Judgment, Passage, Query, RankedList
from corpus.services.crosswalk import excluded_in
from corpus.services.holding import holding
from corpus.services.shown import shown_labels
from corpus.services.versions import stored
from corpus.views.runs import get_run
from kit import htmx
from kit.table_pages import BoundFilter, TablePage
from kit.tables import PAGE_SIZE, page_number


@dataclass(frozen=True)
class Ranked:
    """One place of a ranking; `passage_pk` is None where the corpus does not hold the id."""

    rank: int
    pid: str
    score: float | None
    passage_pk: int | None
    label: int | None
    is_excluded: bool
    # Loaded for the rows of a page alone.
    passage: Passage | None = None


# What the one drop-down offers, and which places it lets through.
SHOWN: dict[str, tuple[str, Callable[[Ranked], bool]]] = {
    "relevant": ("Relevant", lambda row: row.label is not None and row.label > 0),
    "other": ("Not relevant", lambda row: row.label is not None and row.label <= 0),
    "none": ("No label", lambda row: row.label is None),
    "missing": ("Not in the corpus", lambda row: row.passage_pk is None),
    "excluded": ("Excluded ids", lambda row: row.is_excluded),
}
# What kit/filters.html and kit/paging.html read, of a list that is no queryset.
_EMPTY: TablePage[Any] = TablePage(
    rows=[],
    number=1,
    size=PAGE_SIZE,
    total=0,
    more_than=False,
    has_next=False,
    search="",
    sort="",
    searchable=False,
    filters=[],
    columns=[],
)


@require_GET
def ranked_list(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """One ranking, a page at a time: passages as far as the corpus holds them, labels marked."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    rows = RankedList.objects.filter(run=run, query=query_pk).select_related("query__domain", "run")
    found = rows.first()
    if found is None:
        raise Http404("No such ranking.")
    shown = request.GET.get("show", "")
    number = page_number(request.GET.get("page", "1"))
    context = {
        "access": access,
        "tab": "retrieval-runs",
        "run": run,
        "query": found.query,
        "table": _page(access, found, shown if shown in SHOWN else "", number),
    }
    return htmx.render(request, "corpus/ranked_list.html", context, partial="results")


def _page(access: Access, found: RankedList, shown: str, asked: int) -> TablePage[Any]:
    places = range(len(found.pids))
    if shown:
        let_through = SHOWN[shown][1]
        chosen = [row.rank - 1 for row in _ranked(access, found, places) if let_through(row)]
    else:
        chosen = list(places)
    number = min(asked, max(1, -(-len(chosen) // PAGE_SIZE)))
    start, end = (number - 1) * PAGE_SIZE, number * PAGE_SIZE
    choices = [(name, label) for name, (label, _) in SHOWN.items()]
    rows: Any = _with_passages(_ranked(access, found, chosen[start:end]))
    return replace(
        _EMPTY,
        rows=rows,
        number=number,
        total=len(chosen),
        has_next=end < len(chosen),
        filters=[BoundFilter("show", "Show", choices, shown)],
        params={"show": shown} if shown else {},
    )


def _ranked(access: Access, found: RankedList, places: Sequence[int]) -> list[Ranked]:
    """The places of a ranking that are asked for, counted from 0."""
    pids = [found.pids[n] for n in places]
    version = stored(access.benchmark, found.run.corpus_version_id)
    keys, labels = _keys(version, found.query, pids), _labels(version, found.query)
    excluded = excluded_in(version, [found.query]).get(found.query.pk, set()) if version else set()
    return [
        Ranked(
            rank=n + 1,
            pid=pid,
            score=found.scores[n] if found.scores else None,
            passage_pk=keys.get(pid),
            label=labels.get(keys[pid]) if pid in keys else None,
            is_excluded=pid in excluded,
        )
        for n, pid in zip(places, pids, strict=True)
    ]


def _with_passages(rows: list[Ranked]) -> list[Ranked]:
    keys = [row.passage_pk for row in rows if row.passage_pk is not None]
    passages = Passage.objects.order_by().in_bulk(keys)
    return [replace(row, passage=passages.get(row.passage_pk or 0)) for row in rows]


def _keys(version: CorpusVersion | None, query: Query, pids: list[str]) -> dict[str, int]:
    rows = Passage.objects.in_version(version).filter(domain_id=query.domain_id, pid__in=pids)
    return dict(rows.order_by().values_list("pid", "pk"))


def _labels(version: CorpusVersion | None, query: Query) -> dict[int, int]:
    """The label that counts now, by passage: one given since the import before the old gold."""
    if version is not None and version.is_derived:
        held = holding(version, about=Q(query=query), shown_only=True)
        return {passage: each.label for (_, passage), each in held.pairs.items()}
    rows = Judgment.objects.filter(query=query)
    old, since = rows.original(), shown_labels(rows.standing())
    return {
        passage: label
        for labels in (old, since)
        for passage, label in labels.values_list("passage_id", "label")
    }
