"""Collecting: pages for a query by address, pasting or file, and cutting them into passages."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.forms import PageFileForm, PageTextForm, PageUrlForm, SegmentForm
from annotate.models import Aspect, GoldPassage
from annotate.services import collecting, segments
from annotate.services.gold import assign_passage
from annotate.services.remaking import remake, take_back
from annotate.views.board import read_board
from annotate.views.items import titled, web_url
from annotate.views.loaders import enter_query, get_domain_passage
from annotate.views.numbers import number
from annotate.views.page_text import edited, outline, shown, used_elsewhere
from annotate.views.rows import COLOURS
from corpus.access import Access
from corpus.models import CollectedPage, PageFetch, Query
from corpus.services.pages import pages_like
from kit import htmx
from kit.errors import Refused

COLLECT, PAGE = "annotate/collect.html", "annotate/collect_page.html"
_SHOWN = 50


@require_GET
def collect(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The pages of this query and the three ways to bring another."""
    access, query = enter_query(request.user, slug, pk)
    return _collect(request, access, query)


@require_POST
def collect_url(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Fetch a page by its address."""
    access, query = enter_query(request.user, slug, pk)
    form = PageUrlForm(request.POST)

    def fetch() -> str:
        _check(form)
        run = collecting.collect_url(query=query, actor=access.user, **form.cleaned_data)
        if run.page is None:
            return _collect_url(access, query)
        messages.info(request, _said_known(run.page))
        return _page_url(access, query, run.page)

    return _bring(request, access, query, fetch, url_form=form)


@require_POST
def collect_text(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep the text of a page as it was pasted."""
    access, query = enter_query(request.user, slug, pk)
    form = PageTextForm(request.POST)

    def keep() -> str:
        _check(form)
        page = collecting.collect_text(query=query, actor=access.user, **form.cleaned_data)
        return _page_url(access, query, page)

    return _bring(request, access, query, keep, text_form=form)


@require_POST
def collect_file(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep an uploaded page."""
    access, query = enter_query(request.user, slug, pk)
    form = PageFileForm(request.POST, request.FILES)

    def keep() -> str:
        _check(form)
        page = collecting.collect_file(query=query, actor=access.user, **form.cleaned_data)
        return _page_url(access, query, page)

    return _bring(request, access, query, keep, file_form=form)


@require_POST
def fetch_stop(request: HttpRequest, slug: str, pk: int, fetch_pk: int) -> HttpResponse:
    """Give up a fetch."""
    access, query = enter_query(request.user, slug, pk)
    fetch = PageFetch.objects.filter(query=query, pk=fetch_pk).first()
    if fetch is None:
        raise Http404("No such fetch.")
    collecting.stop_fetch(fetch=fetch, actor=access.user)
    return htmx.redirect(request, _collect_url(access, query))


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
        return htmx.redirect(request, _page_url(access, query, page))
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


def pages_of(query: Query) -> list[CollectedPage]:
    """Pages that were brought for the query or that a gold passage of it was cut from."""
    mine = Q(fetches__query=query) | Q(document__passages__gold_passages__query=query)
    rows = CollectedPage.objects.filter(mine).distinct().select_related("document")
    return list(rows.order_by("-pk")[:_SHOWN])


def _add(access: Access, query: Query, page: CollectedPage, form: SegmentForm) -> segments.Segment:
    _check(form)
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


def _said_known(page: CollectedPage) -> str:
    by = f" by {page.created_by}" if page.created_by else ""
    return f"This page was collected{by} on {page.created_at:%Y-%m-%d} already; here it is."


def _check(form: Any) -> None:
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        raise Refused(str(errors[0]), field=field)


def _bring(
    request: HttpRequest, access: Access, query: Query, verb: Callable[[], str], **forms: Any
) -> HttpResponse:
    """Do the verb and go where it leads; refused, the form comes back as it was filled in."""
    try:
        return htmx.redirect(request, verb())
    except Refused as refused:
        (form,) = forms.values()
        form.is_valid()
        field = refused.field if refused.field in form.fields else None
        if refused.message not in [error for errors in form.errors.values() for error in errors]:
            form.add_error(field, refused.message)
        return _collect(request, access, query, status=422, **forms)


def _collect(
    request: HttpRequest, access: Access, query: Query, *, status: int = 200, **forms: Any
) -> HttpResponse:
    fetches = list(query.fetches.filter(page=None)[:_SHOWN])
    context = {
        "access": access,
        "tab": "queries",
        "query": query,
        "fetches": fetches,
        "is_waiting": any(not fetch.is_over for fetch in fetches),
        "pages": pages_of(query),
        "url_form": PageUrlForm(),
        "text_form": PageTextForm(),
        "file_form": PageFileForm(),
        **titled(query.text),
        **forms,
    }
    return htmx.render(request, COLLECT, context, partial="list", status=status)


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


def _collect_url(access: Access, query: Query) -> str:
    return reverse("collect", args=[access.benchmark.slug, query.pk])


def _page_url(access: Access, query: Query, page: CollectedPage) -> str:
    return reverse("collect-page", args=[access.benchmark.slug, query.pk, page.pk])
