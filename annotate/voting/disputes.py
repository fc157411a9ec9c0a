"""Disputes as reviewers and admins see them. Votes are shown once a case is closed."""

from dataclasses import replace
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.loaders import get_case
from annotate.models import CaseKind, CaseStatus, EscalationCase, OpenKind
from annotate.plans.services import as_shown
from annotate.voting.eligibility import must_judge_first
from annotate.voting.items import item_context
from corpus.access import Access, enter
from corpus.models import Benchmark, Domain, Role, Source
from kit import htmx
from kit.lists.tables import Column, Filter, Table
from kit.templatetags.assay import in_words

STATES = [(each, in_words(each).capitalize()) for each in CaseStatus.values]
KINDS = [(value, name) for value, name in CaseKind.choices if value != CaseKind.REFERENCE]

DISPUTES = Table(
    search=("query__qid", "query__text", "passage__pid"),
    filters=(
        Filter("status", "Status", choices=STATES),
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("kind", "Kind", choices=KINDS),
    ),
    columns=(
        # By chance in the end: in the order of their keys, those of an audit are neighbours.
        Column("case", "Case", order=("public_id",)),
        Column("query", "Query", order=("query__domain__name", "query_id", "public_id")),
        Column("passage", "Passage", order=("passage__pid", "public_id")),
        Column("kind", "Kind", order=("kind", "public_id")),
        Column("status", "Status", order=("status", "public_id")),
        Column("outcome", "Outcome", order=("label", "public_id")),
    ),
    order=("public_id",),
    unique=("public_id",),
)


@require_GET
def disputes(request: HttpRequest, slug: str) -> HttpResponse:
    """Every case of the benchmark; nothing here shows the votes of an open one."""
    access = enter(request.user, slug, Role.REVIEWER, Role.ADMIN)
    cases = EscalationCase.objects.in_benchmark(access.benchmark).of_voters()
    cases = cases.select_related("query__domain", "passage", "aspect")
    cases = cases.defer("snapshot", "passage__text")
    choices = {"domain": domain_choices(access.benchmark)}
    table = _list_for(access).read(cases, request.GET, choices=choices)
    context = {"access": access, "table": table}
    return htmx.render(request, "annotate/voting/disputes.html", context, partial="results")


@require_GET
def dispute(request: HttpRequest, slug: str, case: UUID) -> HttpResponse:
    """One case; its votes, unnamed and in order, only when it is closed."""
    access = enter(request.user, slug, Role.REVIEWER, Role.ADMIN)
    found = get_case(access, case)
    is_closed = found.status == CaseStatus.CLOSED
    # A case that an expert's verdict closed is open again once the verdict is undone: its votes
    # stay hidden.
    by_people = is_closed and found.decided_by == Source.HUMAN
    pair = {"query_id": found.query_id, "passage_id": found.passage_id}
    is_blind = must_judge_first(access, **pair, domain_id=found.query.domain_id) is not None
    shown = as_shown(found.snapshot, seed=0, shown=False) if is_blind else None
    context = {
        "access": access,
        "case": found,
        "origin": found.origin.replace(":", " "),
        "is_blind": is_blind,
        "is_closed": is_closed,
        "settle_name": f"{OpenKind.MAJORITY}-{found.public_id}",
        "by_people": by_people,
        "votes": list(found.votes.standing().order_by("pk")) if by_people else [],
    }
    return htmx.render(
        request, "annotate/voting/dispute.html", context | item_context(found, shown)
    )


def _list_for(access: Access) -> Table:
    """The list; who may vote does not see why a case was escalated."""
    if not access.is_annotator:
        return DISPUTES
    return replace(
        DISPUTES,
        filters=tuple(each for each in DISPUTES.filters if each.name != "kind"),
        columns=tuple(each for each in DISPUTES.columns if each.name != "kind"),
    )


def domain_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Values and labels of a drop-down of the benchmark's domains."""
    names = Domain.objects.ready().filter(benchmark=benchmark).values_list("name", flat=True)
    return [(name, name) for name in names]
