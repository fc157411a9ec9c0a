"""Cutting a collected page into passages: each piece supports one aspect of the query.

A page's text as it is shown: in runs, with its outline and what was edited in a piece."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.forms import SegmentForm
from annotate.loaders import enter_query, get_domain_passage, number
from annotate.models import Aspect, GoldPassage
from annotate.voting.items import titled, web_url
from annotate.workspace import collecting as segments
from annotate.workspace.gold import assign_passage
from annotate.workspace.remaking import remake, take_back
from annotate.workspace.views.board import COLOURS, read_board
from corpus.access import Access
from corpus.extraction import Kind
from corpus.models import CollectedPage, Passage, Query
from corpus.services.pages import pages_like
from kit import htmx
from kit.errors import Refused

_SHOWN = 50
_HEADINGS = 300


@dataclass(frozen=True)
class Piece:
    """A run of a page's text as it is shown; `css` says what it is, "" for the gaps between."""

    text: str
    css: str = ""
    # DOM id of a heading, to which the outline leads.
    anchor: str = ""


def shown(page: CollectedPage) -> Iterator[Piece]:
    """The whole text in runs; put together they are the document's text, to the last blank."""
    text, at = page.document.text, 0
    for start, end, kind, _, is_main in page.spans:
        if at < start:
            yield Piece(text[at:start], "" if is_main else "left-out")
        css = f"block-{kind}" if is_main else f"block-{kind} left-out"
        yield Piece(text[start:end], css, f"block-{start}" if kind == Kind.HEADING else "")
        at = end
    if at < len(text):
        yield Piece(text[at:])


def outline(page: CollectedPage) -> list[dict[str, Any]]:
    """The page's headings, what was left out included."""
    return [
        {"start": start, "level": level, "is_main": is_main, "text": page.document.text[start:end]}
        for start, end, kind, level, is_main in page.spans
        if kind == Kind.HEADING
    ][:_HEADINGS]


def used_elsewhere(query: Query, page: CollectedPage) -> QuerySet[Query]:
    """Other queries of the benchmark that have a gold passage from this page."""
    standing = {"gold_passages__ended_at": None, "gold_passages__passage__document": page.document}
    rows = Query.objects.in_benchmark(page.benchmark).filter(**standing)
    return rows.exclude(pk=query.pk).distinct()[:_SHOWN]


def edited(page: CollectedPage, passage: Passage) -> Iterator[Piece]:
    """How a refined text differs from the slice it was cut as; nothing for a verbatim one."""
    changes = (passage.extra or {}).get("edits", ())
    piece, at = page.document.text[passage.start : passage.end], 0
    for place, gone, new in changes:
        yield Piece(piece[at:place])
        if gone:
            yield Piece(piece[place : place + gone], "del")
        if new:
            yield Piece(new, "ins")
        at = place + gone
    if changes:
        yield Piece(piece[at:])


PAGE = "annotate/collect_page.html"


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
def segment_undo(
    request: HttpRequest, slug: str, pk: int, page_pk: int, passage_pk: int
) -> HttpResponse:
    """Take a piece back: it is no gold passage any more."""
    access, query = enter_query(request.user, slug, pk)
    page, passage = get_page(access, page_pk), get_domain_passage(query, passage_pk)

    def undo() -> None:
        take_back(query=query, passage=passage, actor=access.user)

    return _cut(request, access, query, page, undo)


@require_POST
def segment_move(
    request: HttpRequest, slug: str, pk: int, page_pk: int, passage_pk: int
) -> HttpResponse:
    """Let a piece support another aspect."""
    access, query = enter_query(request.user, slug, pk)
    page, passage = get_page(access, page_pk), get_domain_passage(query, passage_pk)

    def move() -> None:
        wanted = number(request.POST.get("aspect", "")) or 0
        aspect = Aspect.objects.filter(query=query, pk=wanted).present().first()
        if aspect is None:
            raise Refused("This aspect is gone. Choose another one.")
        assign_passage(query=query, passage=passage, aspect=aspect, actor=access.user)

    return _cut(request, access, query, page, move)


def _cut(
    request: HttpRequest,
    access: Access,
    query: Query,
    page: CollectedPage,
    verb: Callable[[], segments.Segment | None],
) -> HttpResponse:
    """Do the verb and show what is cut from the page now; refused, what was typed stays typed."""
    said: dict[str, Any] = {}
    try:
        said["added"] = verb()
    except Refused as refused:
        said["refusal"] = refused.message
    if not htmx.is_fragment(request):
        if "refusal" in said:
            messages.warning(request, said["refusal"])
        return htmx.redirect(request, page_url(access, query, page))
    context = _page_context(access, query, page) | said
    answer = htmx.render(request, PAGE, context, partial="kept")
    return htmx.trigger(answer, "segment:added") if said.get("added") else answer


def get_page(access: Access, pk: int) -> CollectedPage:
    """A collected page of this benchmark, or 404."""
    pages = CollectedPage.objects.filter(benchmark=access.benchmark, pk=pk)
    page = pages.select_related("document", "benchmark").first()
    if page is None:
        raise Http404("No such page.")
    return page


def _add(access: Access, query: Query, page: CollectedPage, form: SegmentForm) -> segments.Segment:
    check_form(form)
    data = form.cleaned_data
    start, end = data["start"], data["end"]
    if data["recut"]:
        return _recut(access, query, page, data)
    aspect = Aspect.objects.filter(query=query, pk=data["aspect"]).present().first()
    if aspect is None:
        raise Refused("This aspect is gone. Choose another one.")
    text = data["text"] or None
    if text is None and data["main_only"]:
        text = segments.main_text_of(page, start, end) or None
    return segments.add_segment(
        query=query, page=page, start=start, end=end, aspect=aspect, actor=access.user, text=text
    )


def _recut(
    access: Access, query: Query, page: CollectedPage, data: dict[str, Any]
) -> segments.Segment:
    """Let the chosen piece take the place of one that was cut before, under its aspect."""
    standing = GoldPassage.objects.standing().filter(query=query)
    old = standing.filter(passage__document=page.document_id, passage=data["recut"]).first()
    if old is None:
        raise Refused("This passage is gone. Look at the page again.")
    text = data["text"] or None
    if text is None and data["main_only"]:
        text = segments.main_text_of(page, data["start"], data["end"]) or None
    gold = remake(
        query=query,
        passages=[old.passage],
        aspect=old.aspect,
        actor=access.user,
        start=data["start"],
        end=data["end"],
        text=text,
    )
    return segments.Segment(gold, ())


def check_form(form: Any) -> None:
    """Refused, naming the field, with the first thing that is wrong in the form."""
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        raise Refused(str(errors[0]), field=field)


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
            "overlaps": segments.overlapping(gold.passage, [each.passage for each in pieces]),
            "changes": list(edited(page, gold.passage)),
        }
        for gold in pieces
    ]
    return {
        "access": access,
        "tab": "queries",
        "query": query,
        "page": page,
        "pieces": list(shown(page)),
        "dropped": sum(not is_main for *_, is_main in page.spans),
        "main_count": sum(is_main for *_, is_main in page.spans),
        "outline": outline(page),
        "elsewhere": list(used_elsewhere(query, page)),
        "board": board,
        "kept": kept,
        "alike": pages_like(page),
        "colours": COLOURS,
        "source_url": web_url(page.document.source_url),
        **titled(query.text),
    }


def page_url(access: Access, query: Query, page: CollectedPage) -> str:
    """Where the page is cut for this query."""
    return reverse("collect-page", args=[access.benchmark.slug, query.pk, page.pk])
