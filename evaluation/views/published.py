"""Figures as others printed them, and ours beside them."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import enter
from evaluation.services import published
from evaluation.services.systems import beside_runs
from kit import htmx


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
    pair = (request.GET.get("system", ""), request.GET.get("run", ""))
    rows = published.beside_ours(table, access.benchmark, [pair] if all(pair) else [])
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


@require_GET
def known_systems(request: HttpRequest, slug: str) -> HttpResponse:
    """The systems of DREAM/BRIDGE, and the runs here that bear their names."""
    access = enter(request.user, slug)
    systems = beside_runs(access.benchmark)
    context = {
        "access": access,
        "tab": "leaderboard",
        "systems": systems,
        "here": sum(run is not None for _, run in systems),
    }
    return htmx.render(request, "evaluation/systems.html", context)
