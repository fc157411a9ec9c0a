"""The leaderboard before and after cleaning or hole filling: screen, file, one query."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter, get_query
from corpus.models import CorpusVersion, RetrievalRun
from corpus.services.carried_gold import gold_before_after
from corpus.services.versions import chosen
from evaluation.services import before_after as verbs
from evaluation.services import sheets
from evaluation.services.before_after_sheets import queries_sheet, systems_sheet
from evaluation.services.drill import drill
from evaluation.services.leaderboard import DEFAULT, NAMES, WORDS
from evaluation.services.scores import GoldView
from evaluation.views.leaderboard import with_queries
from kit import htmx
from kit.csvfile import csv_response
from kit.errors import Refused
from kit.sheets import csv_header, csv_rows

_ROWS = 50
_DEPTH = 25


@require_GET
def versions_compared(request: HttpRequest, slug: str) -> HttpResponse:
    """Both boards side by side; with `system`, its queries."""
    access = enter(request.user, slug)
    context = _context(access, request)
    system = request.GET.get("system", "")
    sides = context["sides"]
    try:
        if sides and all(side.sheet for side in sides):
            context["found"] = verbs.compare_sides(*sides, metric=context["metric"])
            if system:
                gaps = verbs.query_gaps(*sides, metric=context["metric"], system=system)
                page = Paginator(gaps, _ROWS).get_page(request.GET.get("page"))
                rows = [(d, q, (one, other, other - one)) for d, q, one, other in page.object_list]
                context |= {"system": system, "page": page, "rows": with_queries(access, rows)}
    except Refused as refusal:
        context["error"] = refusal.message
    return htmx.render(request, "evaluation/before_after.html", context)


@require_GET
def versions_compared_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The systems, or with `system` the queries of one, as a file."""
    access = enter(request.user, slug)
    context = _context(access, request)
    try:
        table = table_of(context["sides"], context["metric"], request.GET.get("system", ""))
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("leaderboard-versions", args=[slug]))
    return csv_response(f"{slug}-{table.name}.csv", csv_header(table), csv_rows(table))


def table_of(sides: list[verbs.Side], metric: str, system: str) -> Any:
    """What file and API give; raises Refused."""
    if not sides:
        raise Refused("Nothing was loaded yet.")
    if system:
        return queries_sheet(system, verbs.query_gaps(*sides, metric=metric, system=system))
    return systems_sheet(verbs.compare_sides(*sides, metric=metric))


@require_GET
def versions_query(request: HttpRequest, slug: str, query_pk: int) -> HttpResponse:
    """One query of one system on both sides: the lists with labels, and what became of the gold."""
    access = enter(request.user, slug)
    query = get_query(access, query_pk)
    context = _context(access, request)
    system = request.GET.get("system", "")
    shown = []
    for side in context["sides"]:
        rows = RetrievalRun.objects.filter(benchmark=access.benchmark, name=system)
        run = rows.filter(corpus_version=side.version.key).first()
        found = drill(run, query, GoldView(side.view), depth=_DEPTH) if run else None
        shown.append((side, run, found))
    if context["sides"]:
        before, after = context["sides"]
        context["gold"] = gold_before_after(query, before.version, after.version)
    context |= {"query": query, "system": system, "shown": shown}
    return htmx.render(request, "evaluation/before_after_query.html", context)


def sides_of(access: Access, given: Any) -> list[verbs.Side]:
    """`a` and `b` name the versions, `view_a` and `view_b` the gold; by default the loaded texts
    and the current version, or where they are one, base and refined. Raises Refused."""
    loaded = CorpusVersion.objects.loaded(access.benchmark)
    if loaded is None:
        return []
    current = CorpusVersion.objects.current(access.benchmark) or loaded
    first = chosen(access.benchmark, given.get("a") or loaded.pk) or loaded
    second = chosen(access.benchmark, given.get("b") or current.pk) or loaded
    view = str(GoldView.BASE if first == second else GoldView.REFINED)
    return [
        verbs.side_of(access.benchmark, first, given.get("view_a") or view),
        verbs.side_of(access.benchmark, second, given.get("view_b") or str(GoldView.REFINED)),
    ]


def _context(access: Access, request: HttpRequest) -> dict[str, Any]:
    metric = request.GET.get("metric", "")
    error, sides = "", []
    try:
        sides = sides_of(access, request.GET)
    except Refused as refusal:
        error = refusal.message
    params = request.GET.copy()
    for name in ("system", "page"):
        params.pop(name, None)
    return {
        "access": access,
        "tab": "leaderboard",
        "sides": sides,
        "stale": [side for side in sides if side.sheet and not sheets.is_current(side.sheet)],
        "missing": [side for side in sides if side.sheet is None],
        "metric": metric if metric in NAMES else DEFAULT,
        "metrics": NAMES,
        "views": [(str(view), WORDS[view]) for view in GoldView],
        "versions": CorpusVersion.objects.choices(access.benchmark),
        "asked": params.urlencode(),
        "error": error,
    }
