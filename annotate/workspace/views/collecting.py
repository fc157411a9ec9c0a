"""Collecting pages for a query by address, pasting or file, and cutting passages from them."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import enter_passage, enter_query, present_aspect
from annotate.models import GoldPassage
from annotate.voting.items import titled, web_url
from annotate.workspace import collecting
from annotate.workspace.forms import (
    PageFileForm,
    PageTextForm,
    PageUrlForm,
    SegmentForm,
    cleaned,
)
from annotate.workspace.remaking import remake
from annotate.workspace.views.board import read_board
from annotate.workspace.views.gold import Verdict
from annotate.workspace.views.queries import query_context
from annotate.workspace.views.texts import edited, outline, shown
from corpus.access import Access, first_or_404
from corpus.models import CollectedPage, PageFetch, Query
from corpus.pages.services import pages_like
from kit import htmx
from kit.errors import Refused

PAGE = "annotate/workspace/collect_page.html"
FORMS = {"url_form": PageUrlForm, "text_form": PageTextForm, "file_form": PageFileForm}
_SHOWN = 50


@require_GET
def collect(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The pages of this query and the three ways to collect another."""
    return _collect(request, *enter_query(request.user, slug, pk))


@require_POST
def page_collect(
    request: HttpRequest,
    slug: str,
    pk: int,
    name: str,
    verb: Callable[..., CollectedPage | PageFetch],
) -> HttpResponse:
    """Keep a page and go there, or have it fetched or read; refused, the form comes back filled."""
    access, query = enter_query(request.user, slug, pk)
    form = FORMS[name](request.POST, request.FILES)
    collected = htmx.submit(form, verb, query=query, actor=access.user)
    if collected is None:
        return _collect(request, access, query, **{name: form})
    page = collected.page if isinstance(collected, PageFetch) else collected
    if page is None:
        return htmx.redirect(request, reverse("collect", args=[slug, pk]))
    if isinstance(collected, PageFetch):
        by = f" by {page.created_by}" if page.created_by else ""
        when = f"{page.created_at:%Y-%m-%d}"
        messages.info(request, f"This page was collected{by} on {when} already; here it is.")
    return htmx.redirect(request, page_url(access, query, page))


@require_POST
def fetch_stop(request: HttpRequest, slug: str, pk: int, fetch_pk: int) -> HttpResponse:
    """Give up a fetch."""
    access, query = enter_query(request.user, slug, pk)
    fetch = first_or_404(PageFetch.objects.filter(query=query, pk=fetch_pk), "fetch")
    collecting.stop_fetch(fetch=fetch, actor=access.user)
    return htmx.redirect(request, reverse("collect", args=[slug, pk]))


def pages_of(query: Query) -> list[CollectedPage]:
    """Pages that were collected for the query or that a gold passage of it was cut from."""
    mine = Q(fetches__query=query) | Q(document__passages__gold_passages__query=query)
    rows = CollectedPage.objects.filter(mine).distinct().select_related("document")
    return list(rows.order_by("-pk")[:_SHOWN])


def _collect(request: HttpRequest, access: Access, query: Query, **bound: Any) -> HttpResponse:
    fetches = list(query.fetches.filter(page=None)[:_SHOWN])
    context = {
        **query_context(access, query),
        "fetches": fetches,
        "is_waiting": any(not fetch.is_over for fetch in fetches),
        "pages": pages_of(query),
        **titled(query.text, query),
        **{name: form() for name, form in FORMS.items()},
        **bound,
    }
    status = 422 if bound else 200
    return htmx.render(
        request, "annotate/workspace/collect.html", context, partial="list", status=status
    )


@require_GET
def collect_page(request: HttpRequest, slug: str, pk: int, page_pk: int) -> HttpResponse:
    """One page as text, what the extractor dropped included, and what was cut from it."""
    access, query = enter_query(request.user, slug, pk)
    page = get_page(access, page_pk)
    return htmx.render(request, PAGE, _page_context(access, query, page), partial="kept")


@require_POST
def segment_add(request: HttpRequest, slug: str, pk: int, page_pk: int) -> HttpResponse:
    """The chosen piece supports one aspect of the query."""
    access, query = enter_query(request.user, slug, pk)
    page = get_page(access, page_pk)
    form = SegmentForm(request.POST)
    return _cut(request, access, query, page, lambda: _add(access, query, page, form))


@require_POST
def segment_verdict(
    request: HttpRequest, slug: str, pk: int, page_pk: int, passage_pk: int, verb: Verdict
) -> HttpResponse:
    """Take a piece back, or let it support another aspect."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)

    def decide() -> None:
        verb(request, access, query, passage)

    return _cut(request, access, query, get_page(access, page_pk), decide)


def _cut(
    request: HttpRequest,
    access: Access,
    query: Query,
    page: CollectedPage,
    verb: Callable[[], dict[str, Any] | None],
) -> HttpResponse:
    """Do the verb and show what is cut from the page now; refused, what was typed stays typed."""
    added, refusal = None, ""
    try:
        added = verb()
    except Refused as refused:
        refusal = refused.message
    if not htmx.is_fragment(request):
        if refusal:
            messages.warning(request, refusal)
        return htmx.redirect(request, page_url(access, query, page))
    context = _page_context(access, query, page) | {"added": added, "refusal": refusal}
    answer = htmx.render(request, PAGE, context, partial="kept")
    return htmx.trigger(answer, "segment:added") if added else answer


def get_page(access: Access, pk: int) -> CollectedPage:
    """A collected page of this benchmark, or 404."""
    pages = CollectedPage.objects.filter(benchmark=access.benchmark, pk=pk)
    return first_or_404(pages.select_related("document", "benchmark"), "page")


def _add(access: Access, query: Query, page: CollectedPage, form: SegmentForm) -> dict[str, Any]:
    """Cut the chosen piece: a new one, or one in the place of `recut`, under its aspect."""
    data = cleaned(form)
    start, end, text = data["start"], data["end"], data["text"] or None
    piece: dict[str, Any] = {"query": query, "actor": access.user, "start": start, "end": end}
    if text is None and data["main_only"]:
        text = collecting.main_text_of(page, start, end) or None
    if not data["recut"]:
        aspect = present_aspect(query, data["aspect"])
        gold, overlaps = collecting.add_segment(page=page, aspect=aspect, text=text, **piece)
        return {"gold": gold, "overlaps": overlaps}
    standing = GoldPassage.objects.standing().filter(query=query)
    old = standing.filter(passage__document=page.document_id, passage=data["recut"]).first()
    if old is None:
        raise Refused("This passage is gone. Look at the page again.")
    return {"gold": remake(passages=[old.passage], aspect=old.aspect, text=text, **piece)}


def _page_context(access: Access, query: Query, page: CollectedPage) -> dict[str, Any]:
    board = read_board(query, open_pk=None, open_next=False)
    cut = GoldPassage.objects.standing().filter(query=query, passage__document=page.document_id)
    numbers = {card.aspect.pk: card for card in board.cards}
    pieces = list(cut.select_related("passage", "aspect").order_by("passage__start"))
    kept = [
        {
            "gold": gold,
            "card": numbers.get(gold.aspect_id),
            "passage": gold.passage,
            "overlaps": collecting.overlapping(gold.passage, [each.passage for each in pieces]),
            "changes": list(edited(page, gold.passage)),
        }
        for gold in pieces
    ]
    # Other queries of the benchmark that have a gold passage from this page.
    standing = {"gold_passages__ended_at": None, "gold_passages__passage__document": page.document}
    elsewhere = Query.objects.in_benchmark(page.benchmark).filter(**standing)
    return {
        **query_context(access, query),
        "page": page,
        "pieces": list(shown(page)),
        "dropped": sum(not is_main for *_, is_main in page.spans),
        "main_count": sum(is_main for *_, is_main in page.spans),
        "outline": outline(page),
        "elsewhere": list(elsewhere.exclude(pk=query.pk).distinct()[:_SHOWN]),
        "board": board,
        "kept": kept,
        "alike": pages_like(page),
        "source_url": web_url(page.document.source_url),
        **titled(query.text, query),
    }


def page_url(access: Access, query: Query, page: CollectedPage) -> str:
    """Where the page is cut for this query."""
    return reverse("collect-page", args=[access.benchmark.slug, query.pk, page.pk])
