"""Two retrieval runs side by side for one query: ranks, and what each found alone."""

from collections.abc import Mapping
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


def others_of(run: RetrievalRun, query: int) -> list[RetrievalRun]:
    """Runs that can stand beside this one: of the same corpus version, and ranking the query."""
    rows = RetrievalRun.objects.filter(
        benchmark=run.benchmark, corpus_version=run.corpus_version_id, lists__query=query
    )
    return list(rows.exclude(pk=run.pk).order_by("name"))


def sides_of(access: Access, run: RetrievalRun, query_pk: int, other: str) -> dict[str, Any] | None:
    """The run beside the other of that key, by default its reranking or the first there is; None
    where no other run ranks the query. Raises Http404.

    Of each place among the first `k`, as far as both lists go, the rank in both runs, None where it
    is not there; `moved` is how many places up; `score` and `spread` are a reranker's own, where
    the second run is its outcome.
    """
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
    places = []
    for pid in pids:
        ranks, (score, spread) = (first.get(pid), second.get(pid)), own.get(pid, (None, None))
        both = None not in ranks
        place = {"pid": pid, "key": keys.get(pid), "score": score, "spread": spread}
        place |= {"first": ranks[0], "second": ranks[1], "label": labels.get(keys.get(pid, 0))}
        place["moved"] = first[pid] - second[pid] if both else None
        place["found"] = "both" if both else "first" if ranks[0] else "second"
        places.append(place)
    return {"first": run, "second": known[pk], "query": one.query, "k": k, "places": places}


@require_GET
def ranked_beside(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """The page of both."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    sides = sides_of(access, run, query_pk, request.GET.get("with", ""))
    context: dict[str, Any] = {"access": access, "run": run, "sides": sides}
    if sides is None:
        context["query"] = Query.objects.select_related("domain").get(pk=query_pk)
        return htmx.render(request, "corpus/reranking/beside.html", context)
    found = [each["found"] for each in sides["places"]]
    context |= {
        "query": sides["query"],
        "table": _page(sides, request.GET),
        "alone": (found.count("first"), found.count("second")),
        "has_scores": any(each["score"] is not None for each in sides["places"]),
    }
    return htmx.render(request, "corpus/reranking/beside.html", context, partial="results")


def _page(sides: dict[str, Any], params: Mapping[str, str]) -> ListPage[Any]:
    shown = params.get("show", "")
    shown = shown if shown in dict(SHOWN) else ""
    rows = [each for each in sides["places"] if not shown or each["found"] == shown]
    runs = [(str(each.pk), each.name) for each in others_of(sides["first"], sides["query"].pk)]
    beside = str(sides["second"].pk)
    page: ListPage[Any] = page_of(
        rows,
        {"with": beside, "show": shown, "page": params.get("page", "1")},
        filters=[
            Filter("with", "Beside", runs, value=beside),
            Filter("show", "Show", list(SHOWN), value=shown),
        ],
        size=PAGE_SIZE,
    )
    passages = Passage.objects.order_by().in_bulk([e["key"] for e in page.rows if e["key"]])
    for each in page.rows:
        each["passage"] = passages.get(each["key"])
    return page


def _own_scores(
    access: Access, run: RetrievalRun, query: int
) -> dict[str, tuple[float | None, float | None]]:
    """A reranker's own scores; to whoever votes what a machine said of a pair is kept back."""
    if access.is_voter or not {Role.ADMIN, Role.REVIEWER} & set(access.membership.roles):
        return {}
    item = RerankItem.objects.filter(run__run=run, query=query).first()
    found = item.found if item else {}
    scores = found.get("rerank", [])
    spread = found.get("spread") or [None] * len(scores)
    return dict(zip(found["pids"], zip(scores, spread, strict=True), strict=True)) if scores else {}
