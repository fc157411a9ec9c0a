"""The leaderboard: systems by rank, one system query by query, one list, two systems compared."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter, get_query
from corpus.lists import is_key
from corpus.models import CorpusVersion, Query, RetrievalRun
from corpus.runs.views import get_run
from corpus.versions.services import chosen, stored
from evaluation.leaderboard import services as boards
from evaluation.leaderboard.drill import drill
from evaluation.models import ScoreSheet
from evaluation.published import services as published
from evaluation.scores import sheets
from evaluation.scores.services import GoldView
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import csv_response
from kit.lists.sheets import csv_header, csv_rows

_ROWS = 50
_DEPTH = 25


@require_GET
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """Every system under one metric and view, with intervals, ranks and what moved."""
    access = enter(request.user, slug)
    context = _context(request, access)
    if isinstance(sheet := context["sheet"], ScoreSheet):
        board = _board(request, sheet)
        context |= {
            "board": board,
            "published": published.tables_for(board),
            "practice": any(each.is_practice for each in board.lines),
        }
    return htmx.render(request, "evaluation/leaderboard.html", context)


@require_GET
def leaderboard_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The board as a file."""
    access = enter(request.user, slug)
    sheet = sheets.latest(access.benchmark, version_of(request, access))
    if sheet is None:
        messages.warning(request, "Nothing was scored yet.")
        return htmx.redirect(request, reverse("leaderboard", args=[slug]))
    table = boards.as_sheet(_board(request, sheet))
    return csv_response(f"{slug}-leaderboard.csv", csv_header(table), csv_rows(table))


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
        sheets.request_sheet(benchmark=access.benchmark, version=version, actor=access.user)

    return htmx.attempt(request, act, there)


@require_GET
def leaderboard_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the computation is; the page is shown anew when it is over."""
    access = enter(request.user, slug)
    live = sheets.under_way(access.benchmark, version_of(request, access))
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
    if isinstance(sheet := context["sheet"], ScoreSheet):
        metric, view = _chosen(request)
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
    return htmx.render(request, "evaluation/leaderboard_run.html", context)


@require_GET
def leaderboard_query(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """One list with labels and aspects, and the gold that it misses."""
    access = enter(request.user, slug)
    run, query = get_run(access, pk), get_query(access, query_pk)
    metric, view = _chosen(request)
    context = {
        "access": access,
        "tab": "leaderboard",
        "run": run,
        "query": query,
        "metric": metric,
        "view": view,
        "drill": drill(run, query, GoldView(view), depth=_DEPTH),
        "views": _views(),
        "metrics": boards.NAMES,
    }
    return htmx.render(request, "evaluation/leaderboard_query.html", context)


@require_GET
def leaderboard_compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Two systems: means, paired tests, and the queries where they differ most."""
    access = enter(request.user, slug)
    context = _context(request, access)
    version = context["version"]
    context["runs"] = RetrievalRun.objects.filter(
        benchmark=access.benchmark, corpus_version=version.key if version else None
    )
    given = [request.GET.get(name, "") for name in ("a", "b")]
    context["a"], context["b"] = given
    if isinstance(sheet := context["sheet"], ScoreSheet) and all(given):
        metric, view = _chosen(request)
        try:
            first, second = (boards.find_run(access.benchmark, pk, "a") for pk in given)
            found = boards.compare(sheet, first, second, metric=metric, view=view)
        except Refused as refusal:
            context["error"] = refusal.message
        else:
            rows = [(d, q, (one, other)) for d, q, one, other in found.rows[:_ROWS]]
            context |= {"found": found, "rows": with_queries(access, rows)}
    return htmx.render(request, "evaluation/leaderboard_compare.html", context)


def _context(
    request: HttpRequest, access: Access, version: CorpusVersion | None = None
) -> dict[str, Any]:
    """What every page of the leaderboard knows."""
    metric, view = _chosen(request)
    choices = {"metric": metric, "view": view, "metrics": boards.NAMES, "views": _views()}
    return sheet_context(access, version or version_of(request, access)) | choices


def sheet_context(access: Access, version: CorpusVersion | None) -> dict[str, Any]:
    """The scores of a corpus version; `live` is the computation under way, if any."""
    sheet = sheets.latest(access.benchmark, version)
    live = sheets.under_way(access.benchmark, version)
    versions = CorpusVersion.objects.choices(access.benchmark)
    key = version.key if version else None
    return {
        "access": access,
        "tab": "leaderboard",
        "sheet": sheet,
        "live": live,
        "is_current": sheet is not None and sheets.is_current(sheet),
        "failed": sheets.failed(access.benchmark, version) if live is None else None,
        "progress_url": reverse("leaderboard-progress", args=[access.benchmark.slug])
        + (f"?version={version.pk}" if version else ""),
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
    """The version that a form or address names, for the next address."""
    asked = given.get("version", "")
    return f"?version={asked}" if is_key(asked) else ""


def _views() -> list[tuple[str, str]]:
    return [(str(view), boards.WORDS[view]) for view in GoldView]


def _chosen(request: HttpRequest) -> tuple[str, str]:
    """Metric and view of the address; what is not there is what the page begins with."""
    metric, view = request.GET.get("metric", ""), request.GET.get("view", "")
    return (
        metric if metric in boards.NAMES else boards.DEFAULT,
        view if view in list(GoldView) else str(GoldView.REFINED),
    )


def _board(request: HttpRequest, sheet: ScoreSheet) -> boards.Board:
    metric, view = _chosen(request)
    return boards.board_of(sheet, metric=metric, view=view)


def with_queries(access: Access, rows: list[tuple[str, str, Any]]) -> list[tuple[Any, Any]]:
    """Each row's query beside its value."""
    found = Query.objects.in_benchmark(access.benchmark).filter(
        qid__in={qid for _, qid, _ in rows}, domain__name__in={name for name, _, _ in rows}
    )
    known = {(query.domain.name, query.qid): query for query in found}
    return [(known[name, qid], v) for name, qid, v in rows if (name, qid) in known]
