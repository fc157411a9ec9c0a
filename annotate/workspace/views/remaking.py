"""A gold passage beside its source page: merging with its neighbours, trimming, cutting anew."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from annotate.loaders import enter_passage, get_domain_passage, number, present_aspect
from annotate.voting.items import titled, web_url
from annotate.workspace.forms import RemakeForm, cleaned
from annotate.workspace.remaking import as_piece, proposal, remake
from annotate.workspace.views.board import Board, read_board
from annotate.workspace.views.queries import query_context, workspace_url
from annotate.workspace.views.texts import Run, shown
from corpus.models import CollectedPage, Document, Passage, Query
from kit import htmx
from kit.errors import Refused

TEMPLATE = "annotate/remake.html"


@require_http_methods(["GET", "POST"])
def passage_remake(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage on its page; POST makes one new passage of it and of those chosen with it."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    is_sent = request.method == "POST"
    others = _chosen(query, passage, request.POST if is_sent else request.GET)
    form = RemakeForm(request.POST if is_sent else None)
    refusal = ""
    if is_sent:
        try:
            data = cleaned(form)
            data |= {"aspect": present_aspect(query, data["aspect"]), "text": data["text"] or None}
            gold = remake(query=query, passages=[passage, *others], actor=access.user, **data)
        except Refused as refused:
            refusal = refused.message
        else:
            messages.success(request, f"{gold.passage.pid} supports a{gold.aspect.k}.")
            return htmx.redirect(request, workspace_url(access, query))
    try:
        *_, text = proposal([passage, *others])
    except Refused as refused:
        text, refusal = "", refusal or refused.message
    board = read_board(query, open_pk=passage.pk)
    document = passage.document
    context = {
        **query_context(access, query),
        "board": board,
        "row": board.current,
        "passage": passage,
        "document": document,
        "pieces": _pieces(document) if document and document.text else [],
        "source_url": web_url(passage.source_url or (document.source_url if document else "")),
        "neighbours": _neighbours(board, others),
        "on_page": _on_page(board, passage),
        "proposal": text,
        "is_merge": bool(others),
        "form": form,
        **titled(query.text),
        "refusal": refusal,
    }
    return htmx.render(request, TEMPLATE, context, status=422 if is_sent else 200)


def _chosen(query: Query, passage: Passage, params: QueryDict) -> list[Passage]:
    """The other passages named by `with`, of the query's own domain."""
    keys = {number(each) for each in params.getlist("with")} - {None, passage.pk}
    return [get_domain_passage(query, key) for key in sorted(key for key in keys if key)]


def _pieces(document: Document) -> list[Run]:
    page = CollectedPage.objects.filter(document=document).select_related("document").first()
    return list(shown(page)) if page else [Run(document.text)]


def _neighbours(board: Board, others: list[Passage]) -> list[tuple[Passage, bool]]:
    """Those that touch it, and others that were chosen; each with whether it is chosen."""
    near = [each.pk for each in board.current.touches] if board.current else []
    rows = {row.passage.pk: row.passage for row in board.rows}
    picked = {each.pk: each for each in others}
    keys = dict.fromkeys([*near, *picked])
    known = rows | picked
    return [(known[key], key in picked) for key in keys if key in known]


def _on_page(board: Board, passage: Passage) -> list[dict[str, Any]]:
    """The query's passages on the same page with their places, in the order of the page."""
    cards = {card.aspect.pk: card for card in board.cards}
    found = []
    for row in board.rows:
        if passage.document_id is None or row.passage.document_id != passage.document_id:
            continue
        piece = as_piece(row.passage)
        card = cards.get(row.aspect.pk) if row.aspect else None
        found.append({"row": row, "piece": piece, "card": card})
    return sorted(found, key=lambda each: (each["piece"].start or 0, each["piece"].pk))
