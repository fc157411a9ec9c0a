"""Passage search: passages of the domain for an aspect, ranked, attached by one key."""

from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import enter_passage, enter_query, number, present_aspect
from annotate.models import Aspect
from annotate.workspace.gold import assign_passage
from annotate.workspace.views.board import Row, read_board
from annotate.workspace.views.queries import WORKSPACE, workspace
from corpus.access import Access
from corpus.models import CorpusVersion, Query
from corpus.texts.finding import excerpt
from corpus.texts.indexing import is_ready
from corpus.texts.search import Hit, best_passages, search_words
from kit import htmx
from kit.errors import Refused
from kit.tables import clean

RESULTS = "annotate/query_beside.html"
MOST_SHOWN = 10


class Result(NamedTuple):
    """A passage found: what is shown of it, and what was decided about it already."""

    hit: Hit
    pieces: tuple[tuple[str, bool], ...]
    row: Row | None


@require_GET
def passage_search(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What a search finds for an aspect (`?aspect=`), or for words (`?words=`) and an aspect."""
    access, query = enter_query(request.user, slug, pk)
    full = workspace(access, query) | _context(access, query, request.GET)
    if not htmx.is_fragment(request):
        return htmx.render(request, "annotate/beside.html", full)
    return htmx.render(request, RESULTS, full, partial="results")


@require_POST
def search_attach(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage found supports the aspect that was searched for."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    said = ""
    try:
        aspect = present_aspect(query, request.POST.get("aspect"))
        assign_passage(query=query, passage=passage, aspect=aspect, actor=access.user)
        said = f"supports a{aspect.k}"
    except Refused as refusal:
        messages.warning(request, refusal.message)
    if not htmx.is_fragment(request):
        return htmx.redirect(request, reverse("query", args=[slug, pk]))
    context = _context(access, query, request.POST) | {"said": said, "decided": passage}
    # The passages of the query, as after every verdict, and the results beside them anew.
    full = workspace(access, query) | context | {"hx_oob": True}
    response = htmx.render(request, WORKSPACE, full, partial="verdict")
    response.write(render_to_string(f"{RESULTS}#results", full, request))
    return response


def find(access: Access, query: Query, text: str) -> list[Result]:
    """The best passages for a text, with their marks and the verdicts that stand on them."""
    version = CorpusVersion.objects.loaded(access.benchmark)
    hits = best_passages(text, version=version, domain=query.domain, most=MOST_SHOWN)
    rows = {row.passage.pk: row for row in read_board(query).rows}
    return [
        Result(hit, tuple(excerpt(hit.passage.text or "", hit.words)), rows.get(hit.passage.pk))
        for hit in hits
    ]


def _context(access: Access, query: Query, params: Any) -> dict[str, Any]:
    wanted = number(params.get("aspect", "")) or 0
    aspect = Aspect.objects.filter(query=query, pk=wanted).present().first()
    words = clean(params.get("words", ""))
    text = words or (aspect.content if aspect else "")
    version = CorpusVersion.objects.loaded(access.benchmark)
    return {
        "sought": aspect,
        "words": words,
        "searched": bool(search_words(text)),
        "results": find(access, query, text),
        "is_indexed": is_ready(version),
    }
