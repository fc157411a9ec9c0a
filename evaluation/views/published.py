"""Figures as others printed them, and ours beside them."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import enter
from corpus.models import Benchmark, CleaningPreset, CleaningRun
from evaluation.services import published, sheets
from kit import htmx
from kit.runs import RunStatus


@require_GET
def published_tables(request: HttpRequest, slug: str) -> HttpResponse:
    """All tables, by paper."""
    access = enter(request.user, slug)
    context = {
        "access": access,
        "tab": "leaderboard",
        "tables": list(published.tables().values()),
    }
    return htmx.render(request, "evaluation/published_tables.html", context)


@require_GET
def published_table(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One table with our figures; a run of ours may be set beside a system of another name."""
    access = enter(request.user, slug)
    table = published.tables().get(name)
    if table is None:
        raise Http404("No such table.")
    sheet = sheets.latest(access.benchmark)
    pair = (request.GET.get("system", ""), request.GET.get("run", ""))
    if table.id == published.CHUNKS:
        rows = published.beside_cleaning(table, _last_cleaning(access.benchmark))
    else:
        rows = published.compared(table, sheet, [pair] if all(pair) else [])
    context = {
        "access": access,
        "tab": "leaderboard",
        "table": table,
        "rows": rows,
        "matched": any(row.run for row in rows),
        "runs": access.benchmark.retrieval_runs.all(),
        "system": pair[0],
        "chosen": pair[1],
    }
    return htmx.render(request, "evaluation/published_table.html", context)


def _last_cleaning(benchmark: Benchmark) -> CleaningRun | None:
    """The newest that all agents of MARCUS worked on, as in the paper."""
    done = CleaningRun.objects.filter(benchmark=benchmark, status=RunStatus.DONE)
    return done.filter(preset=CleaningPreset.MARCUS).select_related("source", "version").first()
