"""Collecting: pages for a query by address, pasting or file."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.forms import PageFileForm, PageTextForm, PageUrlForm
from annotate.loaders import enter_query
from annotate.voting.items import titled
from annotate.workspace import collecting
from annotate.workspace.views.segmenting import check_form, page_url
from corpus.access import Access
from corpus.models import CollectedPage, PageFetch, Query
from kit import htmx
from kit.errors import Refused

COLLECT = "annotate/collect.html"
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
        check_form(form)
        run = collecting.collect_url(query=query, actor=access.user, **form.cleaned_data)
        if run.page is None:
            return _collect_url(access, query)
        messages.info(request, _said_known(run.page))
        return page_url(access, query, run.page)

    return _bring(request, access, query, fetch, url_form=form)


@require_POST
def collect_text(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep the text of a page as it was pasted."""
    access, query = enter_query(request.user, slug, pk)
    form = PageTextForm(request.POST)

    def keep() -> str:
        check_form(form)
        page = collecting.collect_text(query=query, actor=access.user, **form.cleaned_data)
        return page_url(access, query, page)

    return _bring(request, access, query, keep, text_form=form)


@require_POST
def collect_file(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Keep an uploaded page."""
    access, query = enter_query(request.user, slug, pk)
    form = PageFileForm(request.POST, request.FILES)

    def keep() -> str:
        check_form(form)
        page = collecting.collect_file(query=query, actor=access.user, **form.cleaned_data)
        return page_url(access, query, page)

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


def pages_of(query: Query) -> list[CollectedPage]:
    """Pages that were brought for the query or that a gold passage of it was cut from."""
    mine = Q(fetches__query=query) | Q(document__passages__gold_passages__query=query)
    rows = CollectedPage.objects.filter(mine).distinct().select_related("document")
    return list(rows.order_by("-pk")[:_SHOWN])


def _said_known(page: CollectedPage) -> str:
    by = f" by {page.created_by}" if page.created_by else ""
    return f"This page was collected{by} on {page.created_at:%Y-%m-%d} already; here it is."


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


def _collect_url(access: Access, query: Query) -> str:
    return reverse("collect", args=[access.benchmark.slug, query.pk])
