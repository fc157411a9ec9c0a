"""The audit of old gold: every original with its verdict and problems, filtered and counted."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import GoldPassage, Problem, ProblemTag
from annotate.services import problems
from annotate.services.gold import DiscardReason
from annotate.services.tie_breaks import REMADE
from annotate.views.disputes import domain_choices
from annotate.views.loaders import enter_query, get_domain_passage
from annotate.views.numbers import number
from annotate.views.queries import WORKSPACE, workspace, workspace_url
from corpus.access import enter
from corpus.models import Judgment, Source
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Filter, Table

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
    return [
        {
            "row": row,
            "verdict": _said(
                attached.get((row.query_id, row.passage_id)),
                verdicts.get((row.query_id, row.passage_id)),
            ),
            "note": _note(verdicts.get((row.query_id, row.passage_id))),
            "problems": [
                *_of_reason(verdicts.get((row.query_id, row.passage_id))),
                *tags.get((row.query_id, row.passage_id), ()),
                *tags.get((row.query_id, None), ()),
            ],
            "url": reverse(
                "query", args=[slug, row.query_id]
            ) + f"?passage={row.passage_id}",
        }
        for row in rows
    ]  # fmt: skip


def _said(gold: GoldPassage | None, label: Judgment | None) -> tuple[str, str]:
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


def _of_reason(label: Judgment | None) -> list[str]:
    reason = label.provenance.get("reason") if label and label.label == 0 else None
    return [Problem(problems.OF_REASON[reason]).label] if reason in problems.OF_REASON else []


def _note(label: Judgment | None) -> str:
    return str(label.provenance.get("note", "")) if label and label.label == 0 else ""
