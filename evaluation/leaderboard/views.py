"""The leaderboard: systems by rank, one system query by query, one list, two systems compared."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter, get_query
from corpus.judgments.shown import hides_machines
from corpus.lists import is_key
from corpus.models import CorpusVersion, Query, RetrievalRun
from corpus.runs.views import get_run
from corpus.versions.services import chosen, stored
from evaluation.leaderboard import pictures
from evaluation.leaderboard import services as boards
from evaluation.leaderboard.noise import marks_for
from evaluation.leaderboard.services import drill
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.published import services as published
from evaluation.scores import sheets
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView, readable_view
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response

_ROWS = 50
_DEPTH = 25


@require_GET
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """Every system under one metric and view, with intervals, ranks and what moved."""
    access = enter(request.user, slug)
    context = _context(request, access)
    if isinstance(sheet := context["scored"], ScoreSheet):
        metric, view, _ = _chosen(request, access)
        board = boards.leaderboard_of(sheet, metric=metric, view=view)
        strips = pictures.strips_of(board)
        check, places = marks_for(access, board, sheet)
        context |= {
            "board": board,
            "strips": strips,
            "lines": [
                (line, pictures.strip_of(strips, board, line), places.get(line.run.pk))
                for line in board.lines
            ],
            "noise": check,
            "chart": pictures.moves_of(board),
            "published": published.tables_for(board),
            "practice": any(each.is_practice for each in board.lines),
            "practice_labels": view != GoldView.BASE and sheet.boards.get("practice"),
        }
    return htmx.render(request, "evaluation/leaderboard/leaderboard.html", context)


@require_GET
def leaderboard_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The board as a file."""
    access = enter(request.user, slug)
    metric, view, profile = _chosen(request, access)
    sheet = sheets.latest(access.benchmark, version_of(request, access), profile=profile)
    if sheet is None or sheets.lacks(sheet, metric):
        messages.warning(request, "Nothing was scored yet.")
        return htmx.redirect(request, reverse("leaderboard", args=[slug]) + _asked(request.GET))
    board = boards.leaderboard_of(sheet, metric=metric, view=view)
    table = boards.as_table(board, marks_for(access, board, sheet)[1])
    return table_response(f"{slug}-leaderboard.csv", table)


@require_POST
def leaderboard_refresh(request: HttpRequest, slug: str) -> HttpResponse:
    """Have the scores computed anew; any member may, it changes no label."""
    access = enter(request.user, slug)
    back = request.POST.get("back", "")
    if back.startswith("versions?"):
        there = reverse("leaderboard-versions", args=[slug]) + back[8:]
    else:
        target = "holes" if back == "holes" else "leaderboard"
        there = reverse(target, args=[slug]) + _asked(request.POST)

    def act() -> None:
        version = chosen(access.benchmark, request.POST.get("version"))
        sheets.request_sheet(
            benchmark=access.benchmark,
            version=version,
            profile=request.POST.get("profile") or STRICT.name,
            metric=request.POST.get("metric", ""),
            actor=access.user,
        )

    return htmx.attempt(request, act, there)


@require_GET
def leaderboard_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the computation is; the page is shown anew when it is over."""
    access = enter(request.user, slug)
    profile = _chosen(request, access)[2]
    live = sheets.under_way(access.benchmark, version_of(request, access), profile=profile)
    if live is not None:
        context = {"run": live, "progress_url": request.get_full_path()}
        return htmx.render(request, "kit/progress.html", context)
    back = request.headers.get("HX-Current-URL", "")
    target = "holes" if f"/b/{slug}/holes/" in back else "leaderboard"
    answer = htmx.redirect(request, reverse(target, args=[slug]) + _asked(request.GET))
    return htmx.stop_polling(answer) if htmx.is_fragment(request) else answer


@require_GET
def leaderboard_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One system, query by query: the lowest values first."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    version = stored(access.benchmark, run.corpus_version_id)
    context = _context(request, access, version) | {"run": run}
    if isinstance(sheet := context["scored"], ScoreSheet):
        metric, view, _ = _chosen(request, access)
        values = boards.query_values(sheet, run, metric, view)
        domain = request.GET.get("domain", "")
        kept = [(key, v) for key, v in values.items() if domain in ("", key[0])]
        kept.sort(key=lambda row: (row[1] is None, row[1] or 0.0, row[0]))
        page = Paginator(kept, _ROWS).get_page(request.GET.get("page"))
        context |= {
            "page": page,
            "rows": with_queries(access, [(*key, v) for key, v in page.object_list]),
            "domains": sheet.boards["domains"],
            "domain": domain,
        }
    return htmx.render(request, "evaluation/leaderboard/run.html", context)


@require_GET
def leaderboard_query(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """One list with labels and aspects, and the gold that it misses."""
    access = enter(request.user, slug)
    run, query = get_run(access, pk), get_query(access, query_pk)
    context = {
        "access": access,
        "run": run,
        "query": query,
        "drill": drill(run, query, GoldView(_chosen(request, access)[1]), depth=_DEPTH),
        **_choices(request, access),
    }
    return htmx.render(request, "evaluation/leaderboard/query.html", context)


@require_GET
def leaderboard_compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Two systems: means, paired tests, all queries in a picture, and where they differ most."""
    access = enter(request.user, slug)
    context = _context(request, access)
    version = context["version"]
    context["runs"] = RetrievalRun.objects.filter(
        benchmark=access.benchmark, corpus_version=version.key if version else None
    )
    given = [request.GET.get(name, "") for name in ("a", "b")]
    context["a"], context["b"] = given
    if isinstance(sheet := context["scored"], ScoreSheet) and all(given):
        try:
            found = _compared(request, access, sheet)
        except Refused as refusal:
            context["error"] = refusal.message
        else:
            rows = [(d, q, (one, other)) for d, q, one, other in found["rows"][:_ROWS]]
            context |= {"found": found, "rows": with_queries(access, rows)}
            context |= {"summary": boards.summary_table(found)}
            context |= {"chart": pictures.queries_of(found), "here": request.GET.urlencode()}
    return htmx.render(request, "evaluation/leaderboard/compare.html", context)


@require_GET
def leaderboard_compare_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Every query of two systems compared, as a file."""
    access = enter(request.user, slug)
    profile = _chosen(request, access)[2]
    sheet = sheets.latest(access.benchmark, version_of(request, access), profile=profile)
    try:
        if sheet is None:
            raise Refused("Nothing was scored yet.")
        table = boards.compared_table(_compared(request, access, sheet))
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("leaderboard-compare", args=[slug]))
    return table_response(f"{slug}-compared.csv", table)


def _compared(request: HttpRequest, access: Access, sheet: ScoreSheet) -> dict[str, Any]:
    """The two systems of the address; raises Refused where they are none."""
    metric, view, _ = _chosen(request, access)
    first, second = (
        boards.find_run(access.benchmark, request.GET.get(name, ""), "a") for name in ("a", "b")
    )
    return boards.compare(sheet, first, second, metric=metric, view=view)


def _context(
    request: HttpRequest, access: Access, version: CorpusVersion | None = None
) -> dict[str, Any]:
    """What every page of the leaderboard knows; `scored` is the sheet, if it has the metric."""
    metric, _, profile = _chosen(request, access)
    asked = _asked(request.GET)
    context = sheet_context(access, version or version_of(request, access), profile, asked)
    sheet = context["sheet"]
    lacks = sheet is not None and sheets.lacks(sheet, metric)
    context |= {"scored": None if lacks else sheet, "lacks": lacks, "asked": asked}
    return context | _choices(request, access, sheet)


def _choices(
    request: HttpRequest, access: Access, sheet: ScoreSheet | None = None
) -> dict[str, Any]:
    """What is chosen, and what can be; `address` names the choice in links."""
    metric, view, profile = _chosen(request, access)
    given, error = request.GET.get("metric", ""), ""
    try:
        sheets.metric_name(given or metric)
    except Refused as refusal:
        error = refusal.message
    return {
        "metric": metric,
        "metric_error": error,
        "view": view,
        "profile": profile,
        "address": urlencode({"metric": metric, "view": view, "profile": profile}),
        "metrics": [*boards.NAMES, *(sheet.metrics if sheet else ())],
        "views": [
            (str(each), boards.WORDS[each])
            for each in ((GoldView.BASE,) if hides_machines(access) else GoldView)
        ],
        "profiles": list(PROFILES),
    }


def sheet_context(
    access: Access,
    version: CorpusVersion | None,
    profile: str = STRICT.name,
    asked: str = "",
) -> dict[str, Any]:
    """The scores of a corpus version under a profile; `live` is the computation under way, if any.
    `asked` is the query of the address that its progress returns to."""
    sheet = sheets.latest(access.benchmark, version, profile=profile)
    live = sheets.under_way(access.benchmark, version, profile=profile)
    versions = CorpusVersion.objects.choices(access.benchmark)
    key = version.key if version else None
    return {
        "access": access,
        "sheet": sheet,
        "live": live,
        "is_current": sheet is not None and sheets.is_current(sheet),
        "failed": sheets.failed(access.benchmark, version, profile=profile) if not live else None,
        "progress_url": reverse("leaderboard-progress", args=[access.benchmark.slug])
        + (asked or (f"?version={version.pk}" if version else "")),
        "version": version,
        "versions": versions if len(versions) > 1 else [],
        "has_runs": RetrievalRun.objects.filter(
            benchmark=access.benchmark, corpus_version=key
        ).exists(),
    }


def version_of(request: HttpRequest, access: Access) -> CorpusVersion | None:
    """The corpus version of the address; what is not there is the current one."""
    try:
        return chosen(access.benchmark, request.GET.get("version"))
    except Refused:
        return CorpusVersion.objects.current(access.benchmark)


def _asked(given: QueryDict) -> str:
    """The version and the choice that a form or address names, for the next address."""
    asked = {name: given[name] for name in ("metric", "view", "profile") if given.get(name)}
    if is_key(given.get("version", "")):
        asked["version"] = given["version"]
    return f"?{urlencode(asked)}" if asked else ""


def _chosen(request: HttpRequest, access: Access) -> tuple[str, str, str]:
    """Metric, view and profile of the address; instead of what is none, what a page begins with."""
    metric, view, profile = (request.GET.get(name, "") for name in ("metric", "view", "profile"))
    try:
        metric = sheets.metric_name(metric)
    except Refused:
        metric = boards.DEFAULT
    return (
        metric,
        readable_view(access, view if view in list(GoldView) else str(GoldView.REFINED)),
        profile if profile in PROFILES else STRICT.name,
    )


def with_queries(access: Access, rows: list[tuple[str, str, Any]]) -> list[tuple[Any, Any]]:
    """Each row's query with its value."""
    found = Query.objects.in_benchmark(access.benchmark).filter(
        qid__in={qid for _, qid, _ in rows}, domain__name__in={name for name, _, _ in rows}
    )
    known = {(query.domain.name, query.qid): query for query in found}
    return [(known[name, qid], v) for name, qid, v in rows if (name, qid) in known]
