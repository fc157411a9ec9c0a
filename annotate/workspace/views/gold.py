"""Verdicts on passages: assign, discard, undo, attach what a search found, cut anew; the audit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.loaders import (
    enter_passage,
    enter_query,
    get_domain_passage,
    present_aspect,
)
from annotate.models import Aspect, GoldPassage, Problem, ProblemTag
from annotate.voting.disputes import domain_choices
from annotate.voting.items import titled, web_url
from annotate.voting.snapshot import Run
from annotate.workspace import gold, problems
from annotate.workspace.forms import RemakeForm, cleaned
from annotate.workspace.gold import DiscardReason
from annotate.workspace.remaking import as_piece, proposal, remake, undo_with_sources
from annotate.workspace.views.board import Board, Card, Row, read_board
from annotate.workspace.views.queries import WORKSPACE, query_context, workspace, workspace_url
from annotate.workspace.views.texts import shown
from corpus.access import Access, enter
from corpus.models import CollectedPage, CorpusVersion, Document, Judgment, Passage, Query, Source
from corpus.texts.finding import excerpt
from corpus.texts.indexing import is_ready
from corpus.texts.search import Hit, best_passages, search_words
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Filter, Table, clean
from kit.numbers import number

RESULTS = "annotate/workspace/query_search.html"
MAX_FOUND = 10


def assign(request: HttpRequest, access: Access, query: Query, passage: Passage) -> str:
    """Let the passage support the aspect that was sent; the message for it."""
    aspect = present_aspect(query, request.POST.get("aspect"))
    gold.assign_passage(query=query, passage=passage, aspect=aspect, actor=access.user)
    return f"supports a{aspect.k}"


def discard(request: HttpRequest, access: Access, query: Query, passage: Passage) -> str:
    """Say that the passage is no gold, for one of four reasons."""
    given = {"reason": request.POST.get("reason", ""), "note": _note(request)}
    gold.discard_passage(query=query, passage=passage, actor=access.user, **given)
    return f"discarded: {DiscardReason(given['reason']).label.lower()}"


def _note(request: HttpRequest) -> str:
    return request.POST.get("note", "")[:4000].replace("\x00", " ").strip()


def undo(request: HttpRequest, access: Access, query: Query, passage: Passage) -> str:
    """Take the verdict back; the passage is open again, and there is nothing to say of it."""
    undo_with_sources(query=query, passage=passage, actor=access.user)
    return ""


Verdict = Callable[[HttpRequest, Access, Query, Passage], str]


@require_POST
def passage_verdict(
    request: HttpRequest, slug: str, pk: int, passage_pk: int, verb: Verdict
) -> HttpResponse:
    """One of the verdicts above."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    return _decide(request, access, query, passage, lambda: verb(request, access, query, passage))


@require_POST
def problem_tag(request: HttpRequest, slug: str, pk: int, *, on: bool = True) -> HttpResponse:
    """Tag the query's old gold, or one passage of it; off, or with "no", take the tag off."""
    access, query = enter_query(request.user, slug, pk)
    passage_pk = number(request.POST.get("passage", ""))
    passage = get_domain_passage(query, passage_pk) if passage_pk else None
    given: dict[str, Any] = {"query": query, "passage": passage, "actor": access.user}
    given["problem"] = request.POST.get("problem", "")

    def tag() -> None:
        if on and request.POST.get("on") != "no":
            problems.tag_problem(**given, note=_note(request))
        else:
            problems.untag_problem(**given)

    return _decide(request, access, query, passage, tag, problems_open=True)


def _tried(request: HttpRequest, verb: Callable[[], str | None]) -> str:
    """What the verb says once it is done; "" where it was refused, with a warning that says why."""
    try:
        return verb() or ""
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return ""


def _decide(
    request: HttpRequest,
    access: Access,
    query: Query,
    passage: Passage | None,
    verb: Callable[[], str | None],
    **shown: Any,
) -> HttpResponse:
    """Do it and show the next passage, or this one where there is nothing to say of it."""
    message = _tried(request, verb)
    here = None if message or passage is None else passage.pk
    if not htmx.is_fragment(request):
        url = workspace_url(access, query)
        return htmx.redirect(request, f"{url}?passage={here}" if here else url)
    context = workspace(access, query, open_pk=here)
    context |= {"message": message, "decided": passage, "hx_oob": True, **shown}
    return htmx.render(request, WORKSPACE, context, partial="verdict")


class Result(NamedTuple):
    """A passage found: what is shown of it, and what was decided about it already."""

    hit: Hit
    pieces: tuple[tuple[str, bool], ...]
    row: Row | None


@require_GET
def passage_search(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What a search finds for an aspect (`?aspect=`), or for words (`?words=`) and an aspect."""
    access, query = enter_query(request.user, slug, pk)
    full = workspace(access, query) | _found(access, query, request.GET)
    if not htmx.is_fragment(request):
        return htmx.render(request, "annotate/workspace/search.html", full)
    return htmx.render(request, RESULTS, full, partial="results")


@require_POST
def search_attach(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage found supports the aspect that was searched for."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    message = _tried(request, lambda: assign(request, access, query, passage))
    if not htmx.is_fragment(request):
        return htmx.redirect(request, workspace_url(access, query))
    found = _found(access, query, request.POST) | {"message": message, "decided": passage}
    # The passages of the query, as after every verdict, and the results anew.
    full = workspace(access, query) | found | {"hx_oob": True}
    response = htmx.render(request, WORKSPACE, full, partial="verdict")
    response.write(render_to_string(f"{RESULTS}#results", full, request))
    return response


def find(access: Access, query: Query, text: str) -> list[Result]:
    """The best passages for a text, with their marks and the verdicts that stand on them."""
    version = CorpusVersion.objects.loaded(access.benchmark)
    hits = best_passages(text, version=version, domain=query.domain, most=MAX_FOUND)
    rows = {row.passage.pk: row for row in read_board(query).rows}
    return [
        Result(hit, tuple(excerpt(hit.passage.text or "", hit.words)), rows.get(hit.passage.pk))
        for hit in hits
    ]


def _found(access: Access, query: Query, params: Any) -> dict[str, Any]:
    key = number(params.get("aspect", "")) or 0
    aspect = Aspect.objects.filter(query=query, pk=key).present().first()
    words = clean(params.get("words", ""))
    text = words or (aspect.content if aspect else "")
    return {
        "sought": aspect,
        "words": words,
        "searched": bool(search_words(text)),
        "results": find(access, query, text),
        "is_indexed": is_ready(CorpusVersion.objects.loaded(access.benchmark)),
    }


@require_http_methods(["GET", "POST"])
def passage_remake(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage on its page; POST makes one new passage of it and of those chosen with it."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    is_sent = request.method == "POST"
    params = request.POST if is_sent else request.GET
    keys = {number(each) for each in params.getlist("with")} - {None, passage.pk}
    others = [get_domain_passage(query, key) for key in sorted(key for key in keys if key)]
    form = RemakeForm(request.POST if is_sent else None)
    text = refusal = ""
    try:
        if is_sent:
            data = cleaned(form)
            data |= {"aspect": present_aspect(query, data["aspect"]), "text": data["text"] or None}
            made = remake(query=query, passages=[passage, *others], actor=access.user, **data)
            messages.success(request, f"{made.passage.pid} supports a{made.aspect.k}.")
            return htmx.redirect(request, workspace_url(access, query))
    except Refused as refused:
        refusal = refused.message
    try:
        *_, text = proposal([passage, *others])
    except Refused as refused:
        refusal = refusal or refused.message
    board = read_board(query, open_pk=passage.pk)
    document = passage.document
    context = {
        **query_context(access, query),
        "board": board,
        "row": board.current,
        "passage": passage,
        "document": document,
        "pieces": _pieces(document) if document and document.text else [],
        "source_url": web_url(passage.address),
        "neighbours": _neighbours(board, others),
        "on_page": _on_page(board, passage),
        "proposal": text,
        "is_merge": bool(others),
        "form": form,
        **titled(query.text, query),
        "refusal": refusal,
    }
    return htmx.render(
        request, "annotate/workspace/remake.html", context, status=422 if is_sent else 200
    )


def _pieces(document: Document) -> list[Run]:
    page = CollectedPage.objects.filter(document=document).select_related("document").first()
    return list(shown(page)) if page else [Run(document.text)]


def _neighbours(board: Board, others: list[Passage]) -> list[tuple[Passage, bool]]:
    """Those that touch it, and others that were chosen; each with whether it is chosen."""
    near = [each.pk for each in board.current.touches] if board.current else []
    known = {row.passage.pk: row.passage for row in board.rows} | {p.pk: p for p in others}
    keys = dict.fromkeys([*near, *(each.pk for each in others)])
    return [(known[key], known[key] in others) for key in keys if key in known]


def _on_page(board: Board, passage: Passage) -> list[dict[str, Any]]:
    """The query's passages on the same page with their places, in the order of the page."""
    cards: dict[Aspect | None, Card] = {card.aspect: card for card in board.cards}
    here = [
        {"row": row, "piece": as_piece(row.passage), "card": cards.get(row.aspect)}
        for row in board.rows
        if passage.document_id is not None and row.passage.document_id == passage.document_id
    ]
    return sorted(here, key=lambda each: (each["piece"].start or 0, each["piece"].pk))


AUDIT = Table(
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("verdict", "Verdict", choices=problems.VERDICTS, apply=problems.by_verdict),
        Filter("problem", "Problem", choices=tuple(Problem.choices), apply=problems.by_problem),
    ),
    columns=(
        Column("query", "Query", order=("query_id", "pk")),
        Column("passage", "Passage"),
        Column("verdict", "Verdict"),
        Column("problems", "Problems"),
    ),
    order=("query_id", "pk"),
)


@require_GET
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    """Original positives of the benchmark, and how many have which verdict and problem."""
    access = enter(request.user, slug)
    rows = problems.audited(access.benchmark).select_related("query__domain", "passage")
    rows = rows.defer("passage__text", "query__text")
    table = AUDIT.read(rows, request.GET, choices={"domain": domain_choices(access.benchmark)})
    counted = problems.audited(access.benchmark)
    if domain := next((each.value for each in table.filters if each.name == "domain"), ""):
        counted = counted.filter(query__domain__name=domain)
    verdicts, tagged = problems.count_verdicts(counted), problems.count_problems(counted)
    context = {
        "access": access,
        "table": table,
        "lines": _lines(table.rows),
        "verdicts": [(value, label, verdicts[value]) for value, label in problems.VERDICTS],
        "problems": [(value, label, tagged[value]) for value, label in Problem.choices],
        "domain": domain,
    }
    return htmx.render(request, "annotate/workspace/audit.html", context, partial="results")


def _lines(originals: Sequence[Judgment]) -> list[dict[str, Any]]:
    """Each original with what was said of it; a handful of queries for the whole page."""
    queries = {each.query_id for each in originals}
    labels = Judgment.objects.standing().filter(query__in=queries, source=Source.EXPERT)
    verdicts = {(each.query_id, each.passage_id): each for each in labels}
    gold_rows = GoldPassage.objects.standing().filter(query__in=queries).select_related("aspect")
    aspects = {(each.query_id, each.passage_id): each.aspect for each in gold_rows}
    tags: dict[tuple[int, int | None], list[str]] = {}
    for tag in ProblemTag.objects.standing().filter(query__in=queries):
        tags.setdefault((tag.query_id, tag.passage_id), []).append(tag.get_problem_display())
    lines = []
    for each in originals:
        pair = (each.query_id, each.passage_id)
        row = Row(each.passage, True, aspects.get(pair), verdicts.get(pair))
        tagged = [*tags.get(pair, ()), *tags.get((each.query_id, None), ())]
        note = ""
        if row.label is not None and row.label.label == 0:
            note = row.note
            problem = problems.OF_REASON.get(row.label.provenance.get("reason", ""))
            tagged = [*([Problem(problem).label] if problem else []), *tagged]
        line = {"original": each, "verdict": _verdict(row), "note": note, "problems": tagged}
        lines.append(line)
    return lines


def _verdict(row: Row) -> tuple[str, str]:
    """The verdict in words and the class of its tag."""
    if row.aspect is not None and row.is_asking:
        return f"asks for a new aspect: a{row.aspect.k} is gone", "warn"
    if row.aspect is not None:
        return f"a{row.aspect.k}", "good"
    if row.into:
        return f"part of {row.into}", "good"
    return (f"discarded: {row.reason}", "bad") if row.is_discarded else ("undecided", "warn")
