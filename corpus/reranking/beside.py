"""Two retrieval runs side by side for one query: ranks, and what each found alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.lists import is_key
from corpus.models import Passage, Query, RankedList, RerankItem, RetrievalRun, Role
from corpus.pooling import Ranking, top
from corpus.runs.views import get_run, keys_of, labels_of
from corpus.versions.services import stored
from kit import htmx
from kit.lists.tables import PAGE_SIZE, Filter, ListPage, page_of

SHOWN: Final = (
    ("both", "In both"),
    ("first", "In the first alone"),
    ("second", "In the second alone"),
)


@dataclass(frozen=True)
class Place:
    """A passage with its rank in each run, None where it is not among the first `k`.

    `score` and `spread` are a reranker's own, where the second run is its outcome.
    """

    pid: str
    first: int | None
    second: int | None
    passage_pk: int | None = None
    label: int | None = None
    score: float | None = None
    spread: float | None = None
    passage: Passage | None = None

    @property
    def moved(self) -> int | None:
        """Places up (above 0) or down."""
        return self.first - self.second if self.first and self.second else None

    @property
    def found(self) -> str:
        """Which of SHOWN it is."""
        return "both" if self.first and self.second else "first" if self.first else "second"


@dataclass(frozen=True)
class Sides:
    """Both runs with the places of one query; `k` is as far as both lists go."""

    first: RetrievalRun
    second: RetrievalRun
    query: Query
    k: int
    places: list[Place]


def others_of(run: RetrievalRun, query: int) -> list[RetrievalRun]:
    """Runs that can stand beside this one: of the same corpus version, and ranking the query."""
    rows = RetrievalRun.objects.filter(
        benchmark=run.benchmark, corpus_version=run.corpus_version_id, lists__query=query
    )
    return list(rows.exclude(pk=run.pk).order_by("name"))


def sides_of(access: Access, run: RetrievalRun, query_pk: int, other: str) -> Sides | None:
    """The run beside the other of that key, by default its reranking or the first there is; None
    where no other run ranks the query. Raises Http404."""
    rows = RankedList.objects.select_related("query__domain")
    one = rows.filter(run=run, query=query_pk).first()
    if one is None:
        raise Http404("No such ranking.")
    known = {each.pk: each for each in others_of(run, query_pk)}
    made = [pk for pk in run.reranked_by.values_list("run", flat=True) if pk in known]
    pk = int(other) if is_key(other) else next(iter([*made, *known]), 0)
    if other and pk not in known:
        raise Http404("No such run beside this one.")
    if pk not in known:
        return None
    two = rows.get(run=pk, query=query_pk)
    k = min(len(one.pids), len(two.pids))
    first, second = (
        {pid: rank for rank, (pid, _) in enumerate(top(Ranking(e.pids, e.scores), k), start=1)}
        for e in (one, two)
    )
    pids = sorted({**second, **first}, key=lambda p: (second.get(p, k + first.get(p, 0)), p))
    version = stored(access.benchmark, run.corpus_version_id)
    keys, labels = keys_of(version, one.query, pids), labels_of(access, version, one.query)
    own = _own_scores(access, known[pk], query_pk)
    places = [
        Place(
            pid,
            first.get(pid),
            second.get(pid),
            keys.get(pid),
            labels.get(keys[pid]) if pid in keys else None,
            *own.get(pid, (None, None)),
        )
        for pid in pids
    ]
    return Sides(run, known[pk], one.query, k, places)


@require_GET
def ranked_beside(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """The page of both."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    sides = sides_of(access, run, query_pk, request.GET.get("with", ""))
    context: dict[str, Any] = {"access": access, "run": run, "sides": sides}
    if sides is None:
        query = (
            RankedList.objects.select_related("query__domain").get(run=run, query=query_pk).query
        )
        return htmx.render(request, "corpus/reranking/beside.html", context | {"query": query})
    counts = {name: sum(each.found == name for each in sides.places) for name, _ in SHOWN}
    context |= {
        "query": sides.query,
        "table": _page(sides, request.GET),
        "alone": (counts["first"], counts["second"]),
        "has_scores": any(each.score is not None for each in sides.places),
    }
    return htmx.render(request, "corpus/reranking/beside.html", context, partial="results")


def _page(sides: Sides, params: Mapping[str, str]) -> ListPage[Any]:
    shown = params.get("show", "")
    shown = shown if shown in dict(SHOWN) else ""
    rows = [each for each in sides.places if not shown or each.found == shown]
    runs = [(str(each.pk), each.name) for each in others_of(sides.first, sides.query.pk)]
    page: ListPage[Any] = page_of(
        rows,
        {"with": str(sides.second.pk), "show": shown, "page": params.get("page", "1")},
        filters=[
            Filter("with", "Beside", runs, value=str(sides.second.pk)),
            Filter("show", "Show", list(SHOWN), value=shown),
        ],
        size=PAGE_SIZE,
    )
    passages = Passage.objects.order_by().in_bulk([e.passage_pk for e in page.rows if e.passage_pk])
    return replace(
        page, rows=[replace(each, passage=passages.get(each.passage_pk or 0)) for each in page.rows]
    )


def _own_scores(
    access: Access, run: RetrievalRun, query: int
) -> dict[str, tuple[float | None, float | None]]:
    """A reranker's own scores; to whoever votes what a machine said of a pair is kept back."""
    if access.is_voter or not {Role.ADMIN, Role.REVIEWER} & set(access.membership.roles):
        return {}
    item = RerankItem.objects.filter(run__run=run, query=query).first()
    scores = item.found.get("rerank", []) if item else []
    spread = item.found.get("spread", []) if item else []
    if not item or not scores:
        return {}
    spread = spread or [None] * len(scores)
    return dict(zip(item.found["pids"], zip(scores, spread, strict=True), strict=True))
