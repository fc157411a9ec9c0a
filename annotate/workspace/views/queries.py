"""Queries: the list, and the workspace of one."""

from dataclasses import replace
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.assignments.views import work_context
from annotate.loaders import is_blind, may_write
from annotate.models import GoldPassage
from annotate.voting.disputes import domain_choices
from annotate.voting.items import titled, web_url
from annotate.worked import seconds_left
from annotate.workspace import checklist
from annotate.workspace.changes import described, last_change
from annotate.workspace.gold import DiscardReason
from annotate.workspace.models import present_aspects
from annotate.workspace.problems import OF_PASSAGE
from annotate.workspace.views.board import Board, read_board
from corpus.access import Access, enter, get_query
from corpus.models import CorpusVersion, Judgment, Passage, Query
from corpus.texts.finding import find_passages, query_matches
from kit import htmx
from kit.lists.tables import Column, Filter, Table, clean
from kit.numbers import number

WORKSPACE = "annotate/workspace/query.html"
MAX_FOUND = 20


def _by_work(queries: QuerySet[Query], value: str) -> QuerySet[Query]:
    begun = Exists(present_aspects())
    return queries.filter(begun) if value == "begun" else queries.exclude(begun)


QUERIES = Table(
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter(
            "work",
            "Aspects",
            choices=(("bare", "None yet"), ("begun", "Written")),
            apply=_by_work,
        ),
    ),
    columns=(
        Column("query", "Query", order=("domain__name", "pk")),
        Column("title", "Title", order=("text",)),
        Column("aspects", "Aspects", order=("aspect_count",), numeric=True),
        Column("gold", "Gold passages", order=("gold_count",), numeric=True),
        Column("originals", "Originals", order=("original_count",), numeric=True),
    ),
    order=("domain__name", "pk"),
)


@require_GET
def queries(request: HttpRequest, slug: str) -> HttpResponse:
    """Every query with how far its annotation is."""
    access = enter(request.user, slug)
    rows = _counted(Query.objects.in_benchmark(access.benchmark).filter(domain__is_ready=True))
    shown = replace(
        QUERIES,
        search=lambda found, words: found.filter(query_matches(words, benchmark=access.benchmark)),
    )
    table = shown.read(rows, request.GET, choices={"domain": domain_choices(access.benchmark)})
    context = {"access": access, "table": table}
    return htmx.render(request, "annotate/workspace/queries.html", context, partial="results")


@require_GET
def query(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The workspace; htmx asks for its passages (`?passage=`) or a search (`?find=`) alone."""
    access = enter(request.user, slug)
    found = get_query(access, pk)
    context = workspace(access, found, open_pk=number(request.GET.get("passage", "")))
    words = clean(request.GET.get("find", ""))
    removed = found.aspects.filter(removed_at__isnull=False)
    context |= {
        "find": words,
        "found": _find(access, found, words) if words else None,
        "removed": removed.filter(pk=number(request.GET.get("removed", "")) or 0).first(),
        "seconds_left": seconds_left(access.user, found) if context["is_mine"] else None,
    }
    partial = "found" if htmx.is_fragment(request, "found") else "passages"
    return htmx.render(request, WORKSPACE, context, partial=partial)


def workspace(access: Access, found: Query, *, open_pk: int | None = None) -> dict[str, Any]:
    """Context of the workspace, read afresh; with nothing to open, the next undecided passage."""
    is_annotator = may_write(access, found)
    work = work_context(access, found, is_annotator=is_annotator)
    writes = is_annotator and not work["work_reason"]
    board: Board = read_board(found, open_pk=open_pk, open_next=writes)
    current = board.current.passage if board.current else None
    items = checklist.missing(query=found)
    change = last_change(found, access.user)
    return {
        **query_context(access, found),
        "board": board,
        "may_write": writes,
        "is_blind": is_blind(access, found),
        "reasons": list(zip("tiof", DiscardReason.choices, strict=True)),
        "problem_choices": [(each.value, each.label) for each in OF_PASSAGE],
        "blocking": [item for item in items if item.blocking],
        "hints": [item for item in items if not item.blocking],
        # What the key Z undoes, and how it is called.
        "last_change": change,
        "last_text": described(change) if change else "",
        "source_url": web_url(current.address if current else ""),
        **work,
        **reading(found),
    }


def query_context(access: Access, found: Query) -> dict[str, Any]:
    """What every page of one query needs."""
    return {"access": access, "query": found}


def workspace_url(access: Access, found: Query) -> str:
    """Where a write without JavaScript leads back to."""
    return reverse("query", args=[access.benchmark.slug, found.pk])


def reading(found: Query) -> dict[str, Any]:
    """Context of annotate/query_text.html."""
    answers = [
        {**answer, "url": web_url(str(answer.get("url", "")))}
        for answer in found.community_answers
        if isinstance(answer, dict)
    ]
    return {**titled(found.text, found), "community_answers": answers}


def _find(access: Access, found: Query, words: str) -> list[Passage]:
    version = CorpusVersion.objects.loaded(access.benchmark)
    rows = find_passages(words, version=version, domain=found.domain)
    return list(rows.order_by("pk")[:MAX_FOUND])


def _counted(rows: QuerySet[Query]) -> QuerySet[Query]:
    gold = GoldPassage.objects.standing().filter(query=OuterRef("pk"))
    originals = Judgment.objects.original().filter(query=OuterRef("pk"), label__gt=0)
    return rows.annotate(
        aspect_count=_count(present_aspects()),
        gold_count=_count(gold),
        original_count=_count(originals),
    )


def _count(rows: QuerySet[Any]) -> Coalesce:
    # Counted apart: joins of three lists would multiply each other's rows.
    grouped = rows.order_by().values("query").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(grouped), Value(0))
