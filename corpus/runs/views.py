"""Screens of retrieval runs: the list, the rankings of one, and one ranking with its labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from django.db.models import F, Func, IntegerField, Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter, first_or_404
from corpus.judgments.shown import shown_labels
from corpus.lists import domain_choices, made_for, made_for_choices
from corpus.models import CorpusVersion, Judgment, Passage, Query, RankedList, RetrievalRun
from corpus.texts.finding import query_matches
from corpus.versions.effective import effective_labels
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from kit import htmx
from kit.lists.tables import PAGE_SIZE, Column, Filter, ListPage, Table, page_of

RUNS = Table(
    filters=(Filter("version", "Corpus version", apply=made_for),),
    columns=(
        Column("name", "Run", order=("name",)),
        Column("queries", "Queries", order=("query_count",), numeric=True),
        Column("depth", "Depth", order=("depth",), numeric=True),
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
    context = {"access": access, "table": table}
    return htmx.render(request, "corpus/runs/retrieval_runs.html", context, partial="results")


@require_GET
def retrieval_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One run: its rankings by query."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    rows = RankedList.objects.filter(run=run).select_related("query__domain")
    rows = rows.defer("pids", "scores").annotate(ranked=ItemCount(F("pids")))
    choices = {"domain": domain_choices(access.benchmark)}
    table = lists_table(access).read(rows, request.GET, choices=choices)
    context = {"access": access, "run": run, "table": table}
    return htmx.render(request, "corpus/runs/retrieval_run.html", context, partial="results")


def lists_table(access: Access) -> Table:
    """The rankings of a run, found by their queries."""
    requested = partial(query_matches, benchmark=access.benchmark, at="query__")
    return replace(LISTS, search=lambda rows, words: rows.filter(requested(words)))


def get_run(access: Access, pk: int) -> RetrievalRun:
    """A visible run of this benchmark, or 404."""
    rows = RetrievalRun.objects.filter(benchmark=access.benchmark, pk=pk)
    return first_or_404(rows.select_related("corpus_version"), "retrieval run")


# One place of a ranking; `passage_pk` is None where the corpus does not hold the id.
Ranked: TypeAlias = dict[str, Any]
# What the one drop-down offers, and which places it lets through.
SHOWN: dict[str, tuple[str, Callable[[Ranked], bool]]] = {
    "relevant": ("Relevant", lambda row: row["label"] is not None and row["label"] > 0),
    "other": ("Not relevant", lambda row: row["label"] is not None and row["label"] <= 0),
    "none": ("No label", lambda row: row["label"] is None),
    "missing": ("Not in the corpus", lambda row: row["passage_pk"] is None),
    "excluded": ("Excluded ids", lambda row: row["is_excluded"]),
}


@require_GET
def ranked_list(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """One ranking, a page at a time: passages as far as the corpus holds them, labels marked."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    rows = RankedList.objects.filter(run=run, query=query_pk).select_related("query__domain", "run")
    found = first_or_404(rows, "ranking")
    context = {
        "access": access,
        "run": run,
        "query": found.query,
        "table": _page(access, found, request.GET),
    }
    return htmx.render(request, "corpus/runs/ranked_list.html", context, partial="results")


def _page(access: Access, found: RankedList, params: Mapping[str, str]) -> ListPage[Any]:
    shown = params.get("show", "")
    choices = [(name, label) for name, (label, _) in SHOWN.items()]
    places: Sequence[int] = range(len(found.pids))
    if shown in SHOWN:
        let_through = SHOWN[shown][1]
        places = [row["rank"] - 1 for row in _ranked(access, found, places) if let_through(row)]
    else:
        shown = ""
    page: ListPage[Any] = page_of(
        places,
        {"show": shown, "page": params.get("page", "1")},
        filters=[Filter("show", "Show", choices, value=shown)],
        size=PAGE_SIZE,
    )
    return replace(page, rows=_with_passages(_ranked(access, found, page.rows)))


def _ranked(access: Access, found: RankedList, places: Sequence[int]) -> list[Ranked]:
    """The places of a ranking that are asked for, counted from 0."""
    pids = [found.pids[n] for n in places]
    version = stored(access.benchmark, found.run.corpus_version_id)
    keys, labels = keys_of(version, found.query, pids), labels_of(access, version, found.query)
    excluded = excluded_in(version, [found.query]).get(found.query.pk, set()) if version else set()
    return [
        {
            "rank": n + 1,
            "pid": pid,
            "score": found.scores[n] if found.scores else None,
            "passage_pk": keys.get(pid),
            "label": labels.get(keys[pid]) if pid in keys else None,
            "is_excluded": pid in excluded,
        }
        for n, pid in zip(places, pids, strict=True)
    ]


def _with_passages(rows: list[Ranked]) -> list[Ranked]:
    keys = [row["passage_pk"] for row in rows if row["passage_pk"] is not None]
    passages = Passage.objects.order_by().in_bulk(keys)
    return [row | {"passage": passages.get(row["passage_pk"])} for row in rows]


def keys_of(version: CorpusVersion | None, query: Query, pids: list[str]) -> dict[str, int]:
    """The passages of these ids in the query's domain."""
    rows = Passage.objects.in_version(version).filter(domain_id=query.domain_id, pid__in=pids)
    return dict(rows.order_by().values_list("pid", "pk"))


def labels_of(access: Access, version: CorpusVersion | None, query: Query) -> dict[int, int]:
    """The label that counts now, by passage: one given since the import before the old gold."""
    if version is not None and version.is_derived:
        found = effective_labels(version, about=Q(query=query), shown_to=access)
        return {passage: each.label for (_, passage), each in found.pairs.items()}
    rows = Judgment.objects.filter(query=query)
    old, since = rows.original(), shown_labels(rows.standing(), access)
    return {
        passage: label
        for labels in (old, since)
        for passage, label in labels.values_list("passage_id", "label")
    }
