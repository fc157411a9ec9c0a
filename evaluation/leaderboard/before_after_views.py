"""The leaderboard before and after cleaning or hole filling: screen, file, one query."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, get_query
from corpus.models import CorpusVersion, RetrievalRun
from corpus.versions.effective import gold_before_after
from corpus.versions.services import chosen
from evaluation.leaderboard import before_after as verbs
from evaluation.leaderboard.before_after import queries_table, systems_table
from evaluation.leaderboard.pictures import shifts_of
from evaluation.leaderboard.services import DEFAULT, NAMES, WORDS, drill
from evaluation.leaderboard.views import with_queries
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.scores import sheets
from evaluation.scores.matched import SAME
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView, readable_view
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response

# Each version's whole corpus, or what both hold (scores/matched.py).
POOLS = ("own", "matched")
_ROWS = 50
_DEPTH = 25


@require_GET
def versions_compared(request: HttpRequest, slug: str) -> HttpResponse:
    """Both boards side by side; with `system`, its queries."""
    access = enter(request.user, slug)
    context = _context(access, request)
    sides = context["sides"]
    is_matched = context["pool"] == "matched"
    try:
        if _are_scored(sides, context["metric"]):
            found = verbs.compare_sides(*sides, metric=context["metric"])
            context |= {"found": found, "chart": shifts_of(found, "shifts")}
            if not is_matched:
                context |= _queries(access, request, sides, context["metric"])
    except Refused as refusal:
        context["error"] = refusal.message
    if sides:
        context |= matched_context(access, request, sides, context["metric"])
    if is_matched and context.get("matched_found"):
        context |= _queries(access, request, context["matched"], context["metric"])
    return htmx.render(request, "evaluation/leaderboard/before_after.html", context)


def _queries(
    access: Access, request: HttpRequest, sides: list[verbs.Side], metric: str
) -> dict[str, Any]:
    """The queries of the system that the address names, if it names one."""
    system = request.GET.get("system", "")
    if not system:
        return {}
    gaps = verbs.query_gaps(*sides, metric=metric, system=system)
    page = Paginator(gaps, _ROWS).get_page(request.GET.get("page"))
    rows = [(d, q, (one, other, other - one)) for d, q, one, other in page.object_list]
    return {"system": system, "page": page, "rows": with_queries(access, rows)}


def _are_scored(sides: list[verbs.Side], metric: str) -> bool:
    return bool(sides) and all(side.has(metric) for side in sides)


def matched_context(
    access: Access, request: HttpRequest, sides: list[verbs.Side], metric: str
) -> dict[str, Any]:
    """The same comparison over the passages that both versions hold; nothing where they are one."""
    matched = verbs.matched(*sides)
    if not matched:
        return {}
    address: dict[str, object] = {"a": sides[0].version.pk, "b": sides[1].version.pk}
    address |= {"view_a": sides[0].view, "view_b": sides[1].view, "metric": metric}
    address["profile"] = sides[0].profile
    here = reverse("leaderboard-versions-matched", args=[access.benchmark.slug])
    found: dict[str, Any] = {
        "matched": matched,
        "matched_url": f"{here}?{urlencode(address)}",
        "matched_live": _first(sheets.under_way, access, matched),
        "matched_failed": _first(sheets.failed, access, matched),
    }
    if _are_scored(matched, metric):
        known = [side.sheet for side in matched if side.sheet]
        found["matched_stale"] = not all(map(sheets.is_current, known))
        found["short"] = sum(each.pool["short"] for each in known)
        found["lists"] = sum(each.pool["lists"] for each in known)
        try:
            compared = verbs.compare_sides(*matched, metric=metric)
            found |= {
                "matched_found": compared,
                "matched_chart": shifts_of(compared, "matched-shifts"),
            }
        except Refused as refusal:
            found["matched_error"] = refusal.message
    return found


def _first(
    find: Callable[..., ScoreSheet | None], access: Access, matched: list[verbs.Side]
) -> ScoreSheet | None:
    rows = (
        find(access.benchmark, side.version, side.matched_with, side.profile) for side in matched
    )
    return next((row for row in rows if row is not None), None)


@require_http_methods(["GET", "POST"])
def versions_matched(request: HttpRequest, slug: str) -> HttpResponse:
    """Have both versions scored over what they share; and how far that is."""
    access = enter(request.user, slug)
    there = f"{reverse('leaderboard-versions', args=[slug])}?{request.GET.urlencode()}#matched"
    try:
        sides = sides_of(access, request.GET)
        if request.method == "POST" and sides:
            metric = request.GET.get("metric", "")
            verbs.request_matched(before=sides[0], after=sides[1], metric=metric, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, there)
    live = _first(sheets.under_way, access, verbs.matched(*sides)) if sides else None
    if live is not None and htmx.is_fragment(request):
        context = {"run": live, "progress_url": request.get_full_path()}
        return htmx.render(request, "kit/progress.html", context)
    answer = htmx.redirect(request, there)
    return htmx.stop_polling(answer) if htmx.is_fragment(request) else answer


@require_GET
def versions_compared_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The systems, or with `system` the queries of one, as a file."""
    access = enter(request.user, slug)
    context = _context(access, request)
    try:
        sides = pool_of(context["sides"], context["pool"], context["metric"])
        table = table_of(sides, context["metric"], request.GET.get("system", ""))
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("leaderboard-versions", args=[slug]))
    return table_response(f"{slug}-{table.name}.csv", table)


def pool_of(sides: list[verbs.Side], pool: str, metric: str) -> list[verbs.Side]:
    """The sides as they are, or with `matched` over what they share; raises Refused."""
    if pool not in POOLS:
        raise Refused(f"There is no pool {pool!r}: {', '.join(POOLS)}.", field="pool")
    if pool != "matched" or not sides:
        return sides
    found = verbs.matched(*sides)
    if not found:
        raise Refused(SAME, field="pool")
    if not _are_scored(found, sheets.metric_name(metric)):
        raise Refused("The matched pool was not scored yet.", field="pool")
    return found


def table_of(sides: list[verbs.Side], metric: str, system: str) -> Any:
    """What file and API give; raises Refused."""
    if not sides:
        raise Refused("Nothing was loaded yet.")
    if system:
        return queries_table(system, verbs.query_gaps(*sides, metric=metric, system=system))
    return systems_table(verbs.compare_sides(*sides, metric=metric))


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
        context["gold"] = gold_before_after(query, before.version, after.version, shown_to=access)
    context |= {"query": query, "system": system, "shown": shown}
    return htmx.render(request, "evaluation/leaderboard/before_after_query.html", context)


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
    views = given.get("view_a") or view, given.get("view_b") or str(GoldView.REFINED)
    profile = given.get("profile") or STRICT.name
    return [
        verbs.side_of(access.benchmark, version, readable_view(access, view), profile)
        for version, view in zip((first, second), views, strict=True)
    ]


def _context(access: Access, request: HttpRequest) -> dict[str, Any]:
    metric, error, sides = DEFAULT, "", []
    try:
        metric = sheets.metric_name(request.GET.get("metric") or DEFAULT)
        sides = sides_of(access, request.GET)
    except Refused as refusal:
        error = refusal.message
    params = request.GET.copy()
    pool = "matched" if request.GET.get("pool") == "matched" else POOLS[0]
    for name in ("system", "page", "pool"):
        params.pop(name, None)
    return {
        "access": access,
        "sides": sides,
        "stale": [side for side in sides if side.sheet and not sheets.is_current(side.sheet)],
        "missing": [side for side in sides if not side.has(metric)],
        "metric": metric,
        "metrics": NAMES,
        "profile": (profile := sides[0].profile if sides else STRICT.name),
        "metric_asked": urlencode({"metric": metric, "profile": profile}),
        "profiles": list(PROFILES),
        "views": [(str(view), WORDS[view]) for view in GoldView],
        "versions": CorpusVersion.objects.choices(access.benchmark),
        "asked": params.urlencode(),
        "pool": pool,
        "also": "&pool=matched" if pool == "matched" else "",
        "error": error,
    }
