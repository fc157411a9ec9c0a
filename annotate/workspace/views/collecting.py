"""Collecting: pages for a query by address, pasting or file."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import enter_query, first_or_404
from annotate.voting.items import titled
from annotate.workspace import collecting
from annotate.workspace.forms import PageFileForm, PageTextForm, PageUrlForm, cleaned
from annotate.workspace.views.queries import query_context
from annotate.workspace.views.segmenting import page_url
from corpus.access import Access
from corpus.models import CollectedPage, PageFetch, Query
from kit import htmx
from kit.errors import Refused

COLLECT = "annotate/collect.html"
_SHOWN = 50


@require_GET
def collect(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The pages of this query and the three ways to collect another."""
    access, query = enter_query(request.user, slug, pk)
    return _collect(request, access, query)


@require_POST
def collect_url(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Fetch a page by its address."""
    access, query = enter_query(request.user, slug, pk)
    form = PageUrlForm(request.POST)

    def fetch() -> str:
        run = collecting.collect_url(query=query, actor=access.user, **cleaned(form))
        page = run.page
        if page is None:
            return reverse("collect", args=[slug, pk])
        by = f" by {page.created_by}" if page.created_by else ""
        day = f"{page.created_at:%Y-%m-%d}"
        messages.info(request, f"This page was collected{by} on {day} already; here it is.")
        return page_url(access, query, page)

    return _bring(request, access, query, fetch, url_form=form)


@require_POST
def collect_text(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep the text of a page as it was pasted."""
    access, query = enter_query(request.user, slug, pk)
    form = PageTextForm(request.POST)
    return _keep(request, access, query, collecting.collect_text, text_form=form)


@require_POST
def collect_file(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep an uploaded page."""
    access, query = enter_query(request.user, slug, pk)
    form = PageFileForm(request.POST, request.FILES)
    return _keep(request, access, query, collecting.collect_file, file_form=form)


def _keep(
    request: HttpRequest,
    access: Access,
    query: Query,
    verb: Callable[..., CollectedPage],
    **forms: Form,
) -> HttpResponse:
    (form,) = forms.values()

    def keep() -> str:
        page = verb(query=query, actor=access.user, **cleaned(form))
        return page_url(access, query, page)

    return _bring(request, access, query, keep, **forms)


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
        **query_context(access, query),
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
