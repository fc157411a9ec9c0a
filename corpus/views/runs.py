"""Retrieval runs: the list, and the rankings of one."""

from dataclasses import replace
from functools import partial
from typing import Any

from django.db.models import F, Func, IntegerField
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.lists import domain_choices, made_for, made_for_choices
from corpus.models import RankedList, RetrievalRun
from corpus.services.finding import query_matches
from kit import htmx
from kit.tables import Column, Filter, Table

RUNS = Table(
    filters=(Filter("version", "Corpus version", apply=made_for),),
    columns=(
        Column("name", "Run", order=("name",)),
        Column("queries", "Queries", order=("query_count",), numeric=True),
        Column("depth", "Longest list", order=("depth",), numeric=True),
        Column("unknown", "Unknown ids", order=("unknown_count",), numeric=True),
        Column("at", "Loaded", order=("pk",)),
    ),
    order=("name",),
    search=("name",),
)


LISTS = Table(
    filters=(Filter("domain", "Domain", lookup="query__domain__name"),),
    columns=(
        Column("query", "Query", order=("query_id",)),
        Column("title", "Title"),
        Column("ranked", "Passages ranked", numeric=True),
    ),
    order=("query_id",),
)


class ItemCount(Func):
    """How many items a JSON list has, counted by the database."""

    function = "json_array_length"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """JSON is kept as jsonb there."""
        return self.as_sql(compiler, connection, function="jsonb_array_length", **context)


@require_GET
def retrieval_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Every run that was loaded."""
    access = enter(request.user, slug)
    rows = RetrievalRun.objects.filter(benchmark=access.benchmark).defer("provenance")
    choices = {"version": made_for_choices(access.benchmark)}
    table = RUNS.read(rows.select_related("corpus_version"), request.GET, choices=choices)
    table = replace(table, filters=[each for each in table.filters if each.choices])
    context = {"access": access, "tab": "retrieval-runs", "table": table}
    return htmx.render(request, "corpus/retrieval_runs.html", context, partial="results")


@require_GET
def retrieval_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One run: its rankings by query."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    rows = RankedList.objects.filter(run=run).select_related("query__domain")
    rows = rows.defer("pids", "scores").annotate(ranked=ItemCount(F("pids")))
    choices = {"domain": domain_choices(access.benchmark)}
    table = lists_table(access).read(rows, request.GET, choices=choices)
    context = {"access": access, "tab": "retrieval-runs", "run": run, "table": table}
    return htmx.render(request, "corpus/retrieval_run.html", context, partial="results")


def lists_table(access: Access) -> Table:
    """The rankings of a run, found by their queries."""
    wanted = partial(query_matches, benchmark=access.benchmark, at="query__")
    return replace(LISTS, search=lambda rows, words: rows.filter(wanted(words)))


def get_run(access: Access, pk: int) -> RetrievalRun:
    """A visible run of this benchmark, or 404."""
    rows = RetrievalRun.objects.filter(benchmark=access.benchmark, pk=pk)
    found = rows.select_related("corpus_version").first()
    if found is None:
        raise Http404("No such retrieval run.")
    return found
