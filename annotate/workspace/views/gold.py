"""Verdicts on passages (assign, discard, undo), and the audit of the original gold."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import (
    enter_passage,
    enter_query,
    get_domain_passage,
    number,
    present_aspect,
)
from annotate.models import GoldPassage, Problem, ProblemTag
from annotate.voting.disputes import domain_choices
from annotate.voting.majority import REMADE
from annotate.workspace import gold, problems, remaking
from annotate.workspace.forms import DiscardForm
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.queries import WORKSPACE, workspace, workspace_url
from corpus.access import Access, enter
from corpus.models import Judgment, Passage, Query, Source
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Filter, Table


@require_POST
def passage_assign(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage supports one aspect of the query."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)

    def assign() -> str:
        aspect = present_aspect(query, request.POST.get("aspect"))
        gold.assign_passage(query=query, passage=passage, aspect=aspect, actor=access.user)
        return f"supports a{aspect.k}"

    return _decide(request, access, query, passage, assign)


@require_POST
def passage_discard(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage is no gold, for one of four reasons."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)
    form = DiscardForm(request.POST)

    def discard() -> str:
        if not form.is_valid():
            raise Refused("Choose why the passage is discarded.")
        data = form.cleaned_data
        gold.discard_passage(query=query, passage=passage, actor=access.user, **data)
        return f"discarded: {DiscardReason(data['reason']).label.lower()}"

    return _decide(request, access, query, passage, discard)


@require_POST
def passage_undo(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """Undo the verdict; the passage is open again."""
    access, query, passage = enter_passage(request.user, slug, pk, passage_pk)

    def undo() -> str:
        remaking.take_back(query=query, passage=passage, actor=access.user)
        return ""

    return _decide(request, access, query, passage, undo)


def _decide(
    request: HttpRequest, access: Access, query: Query, passage: Passage, verb: Callable[[], str]
) -> HttpResponse:
    try:
        said = verb()
    except Refused as refusal:
        messages.warning(request, refusal.message)
        said = ""
    here = None if said else passage.pk
    if not htmx.is_fragment(request):
        url = workspace_url(access, query)
        return htmx.redirect(request, f"{url}?passage={here}" if here else url)
    context = workspace(access, query, open_pk=here)
    context |= {"said": said, "decided": passage, "hx_oob": True}
    return htmx.render(request, WORKSPACE, context, partial="verdict")


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
    shown = problems.audited(access.benchmark)
    if domain := next((each.value for each in table.filters if each.name == "domain"), ""):
        shown = shown.filter(query__domain__name=domain)
    context = {
        "access": access,
        "tab": "queries",
        "table": table,
        "lines": _lines(table.rows, access.benchmark.slug),
        "verdicts": _named(problems.VERDICTS, problems.count_verdicts(shown)),
        "problems": _named(Problem.choices, problems.count_problems(shown)),
        "domain": domain,
    }
    return htmx.render(request, "annotate/audit.html", context, partial="results")


@require_POST
def problem_tag(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Tag the query's old gold, or one passage of it; `on` "no" takes the tag off."""
    return _tag(request, slug, pk, on=request.POST.get("on") != "no")


@require_POST
def problem_untag(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take a tag off."""
    return _tag(request, slug, pk, on=False)


def _tag(request: HttpRequest, slug: str, pk: int, *, on: bool) -> HttpResponse:
    access, query = enter_query(request.user, slug, pk)
    passage_pk = number(request.POST.get("passage", ""))
    passage = get_domain_passage(query, passage_pk) if passage_pk else None
    given: dict[str, Any] = {"query": query, "passage": passage, "actor": access.user}
    given["problem"] = request.POST.get("problem", "")
    try:
        if on:
            problems.tag_problem(**given, note=request.POST.get("note", "")[:4000])
        else:
            problems.untag_problem(**given)
    except Refused as refused:
        messages.warning(request, refused.message)
    if not htmx.is_fragment(request):
        at = f"?passage={passage.pk}" if passage else ""
        return htmx.redirect(request, workspace_url(access, query) + at)
    context = workspace(access, query, open_pk=passage.pk if passage else None)
    context |= {"hx_oob": True, "problems_open": True}
    return htmx.render(request, WORKSPACE, context, partial="verdict")


def _named(choices: Any, counts: dict[str, int]) -> list[tuple[str, str, int]]:
    return [(str(value), str(label), counts[value]) for value, label in choices]


def _lines(rows: Sequence[Judgment], slug: str) -> list[dict[str, Any]]:
    """Each original with what was said of it; a handful of queries for the whole page."""
    queries = {row.query_id for row in rows}
    labels = Judgment.objects.standing().filter(query__in=queries, source=Source.EXPERT)
    verdicts = {(each.query_id, each.passage_id): each for each in labels}
    gold = GoldPassage.objects.standing().filter(query__in=queries).select_related("aspect")
    attached = {(each.query_id, each.passage_id): each for each in gold}
    tags: dict[tuple[int, int | None], list[str]] = {}
    for tag in ProblemTag.objects.standing().filter(query__in=queries):
        tags.setdefault((tag.query_id, tag.passage_id), []).append(tag.get_problem_display())
    lines = []
    for row in rows:
        pair = (row.query_id, row.passage_id)
        label = verdicts.get(pair)
        tagged = [*tags.get(pair, ()), *tags.get((row.query_id, None), ())]
        line = {
            "row": row,
            "verdict": _verdict(attached.get(pair), label),
            "note": "",
            "problems": tagged,
            "url": reverse("query", args=[slug, row.query_id]) + f"?passage={row.passage_id}",
        }
        if label is not None and label.label == 0:
            line["note"] = str(label.provenance.get("note", ""))
            problem = problems.OF_REASON.get(label.provenance.get("reason", ""))
            line["problems"] = [*([Problem(problem).label] if problem else []), *tagged]
        lines.append(line)
    return lines


def _verdict(gold: GoldPassage | None, label: Judgment | None) -> tuple[str, str]:
    """The verdict in words and the class of its tag."""
    if gold is not None and gold.aspect.removed_at is not None:
        return f"asks for a new aspect: a{gold.aspect.k} is gone", "warn"
    if gold is not None:
        return f"a{gold.aspect.k}", "good"
    if label is None or label.label > 0:
        return "undecided", "warn"
    if label.provenance.get("rule") == REMADE:
        return f"part of {label.provenance.get('into')}", "good"
    reason = label.provenance.get("reason", "")
    return f"discarded: {dict(DiscardReason.choices).get(reason, reason)}".lower(), "bad"
