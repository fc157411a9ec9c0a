"""Retrieval runs computed here: choosing a method, watching it, stopping it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, first_or_404
from corpus.computing import retrievers
from corpus.computing import services as computing
from corpus.computing.config import INSTRUCTIONS
from corpus.computing.forms import ABOUT, ComputeForm
from corpus.computing.models import Method
from corpus.models import Role, RunComputation
from corpus.run_pages import RunPages
from kit import htmx
from kit.lists.tables import Column, Table

COMPUTATIONS = Table(
    columns=(
        Column("name", "Run", order=("name",)),
        Column("method", "Method"),
        Column("state", "State"),
        Column("at", "Started", order=("pk",)),
    ),
    order=("-pk",),
)


@require_http_methods(["GET", "POST"])
def computations(request: HttpRequest, slug: str) -> HttpResponse:
    """Compute a run: the methods, the form of the chosen one, and what was computed before."""
    access = enter(request.user, slug, Role.ADMIN)
    posted = request.method == "POST"
    given = (request.POST if posted else request.GET).get("method", "")
    found = [retrievers.known(name) for name in retrievers.names() if name not in Method.values]
    plugged = {each.name: each for each in found if each}
    usable = [name for name, each in plugged.items() if not each.fault]
    method = given if given in (*Method.values, *usable) else Method.BM25.value
    form = ComputeForm(request.POST if posted else None, method=method, benchmark=access.benchmark)
    made = htmx.submit(
        form, computing.start, benchmark=access.benchmark, method=method, actor=access.user
    )
    if made:
        return htmx.redirect(request, RUNS.url(made))
    rows = RunComputation.objects.filter(benchmark=access.benchmark).select_related(
        "corpus_version"
    )
    context = {
        "access": access,
        "form": form,
        "method": method,
        "methods": [(name, retrievers.label_of(name)) for name in (*Method.values, *usable)],
        "about": plugged[method].stamp if method in plugged else ABOUT[Method(method)],
        "faults": [*retrievers.shadowed(), *(e.fault for e in plugged.values() if e.fault)],
        "table": COMPUTATIONS.read(rows, request.GET),
    }
    show = htmx.invalid if posted else htmx.render
    return show(
        request, "corpus/computing/computations.html", context, partial="results", target="results"
    )


@require_GET
def computation(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One computation: its progress, then what it read and made."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_computation(access, pk)
    shown = {key: value for key, value in found.config.items() if key not in ("method", "runs")}
    if INSTRUCTIONS in shown:
        shown[INSTRUCTIONS] = "of " + ", ".join(sorted(shown[INSTRUCTIONS]))
    context = RUNS.context(access, found) | {
        "settings": shown.items(),
        "domains": found.report.get("domains", {}).items(),
        "made": found.run if found.run and found.run.is_ready else None,
    }
    return RUNS.show(request, "corpus/computing/computation.html", context)


def get_computation(access: Access, pk: int) -> RunComputation:
    """A computation of this benchmark, or 404."""
    rows = RunComputation.objects.filter(benchmark=access.benchmark, pk=pk)
    rows = rows.select_related("benchmark", "run", "account", "created_by", "corpus_version")
    return first_or_404(
        rows,
        "computation",
    )


RUNS = RunPages(
    RunComputation,
    get=get_computation,
    verbs={"cancel": computing.cancel, "retry": computing.retry},
    is_verb_free=True,
)
