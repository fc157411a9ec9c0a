"""My queue, what the assignee of a query does with it, and assigning queries as admins do."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.assignments import services as verbs
from annotate.assignments.forms import ActiveTimeForm, AssignForm, ReassignForm, annotators
from annotate.assignments.models import HANDED_IN, WRITABLE, unassigned
from annotate.assignments.progress import read_progress
from annotate.assignments.services import note_active
from annotate.loaders import enter_query
from annotate.models import ActiveSpan, Assignment, WorkState
from annotate.rights import assignment_of, why_not
from annotate.voting.disputes import domain_choices
from annotate.workspace.checklist import missing
from corpus.access import Access, enter, first_or_404
from corpus.models import Query, Role
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response
from kit.lists.tables import Column, Filter, Table

MOST_WAITING = 200
DONE = Table(
    filters=(Filter("state", "State", choices=[(s.value, s.label) for s in HANDED_IN]),),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("state", "State", order=("state",)),
        Column("submitted", "Submitted", order=("submitted_at",)),
    ),
    order=("-submitted_at", "pk"),
)


def _by_due(rows: QuerySet[Assignment], value: str) -> QuerySet[Assignment]:
    late = {"due_on__lt": timezone.localdate(), "state__in": WRITABLE}
    return rows.filter(**late) if value == "late" else rows.exclude(due_on=None)


ASSIGNMENTS = Table(
    search=("query__qid", "query__text"),
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("state", "State", choices=WorkState.choices),
        Filter("person", "Assigned to", lookup="holder__username"),
        Filter("due", "Due", choices=(("late", "Overdue"), ("set", "With a day")), apply=_by_due),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("holder", "Assigned to", order=("holder__username",)),
        Column("state", "State", order=("state",)),
        Column("due", "Due", order=("due_on",)),
        Column("submitted", "Submitted", order=("submitted_at",)),
        Column("change", "Change"),
    ),
    order=("query__domain__name", "query_id"),
)


@require_GET
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits for me, first things first; what I submitted; what I could claim."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    mine = Assignment.objects.in_benchmark(access.benchmark).filter(holder=access.user)
    waiting = mine.open().select_related("query__domain").in_turn()
    free = unassigned(Query.objects.in_benchmark(access.benchmark).in_domains(access.domain_ids))
    context = {
        "access": access,
        "waiting": list(waiting[:MOST_WAITING]),
        "today": timezone.localdate(),
        "free": free.count(),
        "table": DONE.read(
            mine.filter(state__in=HANDED_IN).select_related("query__domain"), request.GET
        ),
    }
    return htmx.render(request, "annotate/assignments/queue.html", context, partial="results")


@require_POST
def claim_next(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next unassigned query, and go there."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    take = partial(verbs.claim_next, benchmark=access.benchmark, domain_ids=access.domain_ids)
    return htmx.attempt(
        request,
        partial(take, actor=access.user),
        lambda mine: reverse("query", args=[slug, mine.query_id]),
        otherwise=reverse("queue", args=[slug]),
    )


@require_POST
def query_move(
    request: HttpRequest, slug: str, pk: int, verb: Callable[..., Any], done: str
) -> HttpResponse:
    """Claim a query, unassign it (what was written stays), or take a submitted one back."""
    access, query = enter_query(request.user, slug, pk)
    url = reverse("query", args=[slug, pk])
    said = f"{query} is {done}."
    return htmx.attempt(request, lambda: verb(query=query, actor=access.user), url, said)


@require_http_methods(["GET", "POST"])
def query_submit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What is missing, and submitting the query."""
    access, query = enter_query(request.user, slug, pk)
    refusal = ""
    if request.method == "POST":
        try:
            verbs.submit_query(query=query, actor=access.user)
        except Refused as refused:
            refusal = refused.message
        else:
            messages.success(request, f"{query} is submitted.")
            return htmx.redirect(request, reverse("queue", args=[slug]))
    items = missing(query=query)
    assignment = assignment_of(query)
    context = {
        "access": access,
        "query": query,
        "refusal": refusal,
        "assignment": assignment,
        "reason": why_not(assignment, access.user),
        "blocking": [item for item in items if item.blocking],
        "hints": [item for item in items if not item.blocking],
    }
    show = htmx.invalid if refusal else htmx.render
    return show(request, "annotate/assignments/submit.html", context)


@require_POST
def query_time(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A page reports that its reader was at work; counted for who may write in the query."""
    access, query = enter_query(request.user, slug, pk)
    form = ActiveTimeForm(request.POST)
    if not form.is_valid():
        return htmx.vary(HttpResponse("start and end are milliseconds since 1970", status=400))
    if not why_not(assignment_of(query), access.user):
        note_active(query=query, actor=access.user, **form.cleaned_data)
    return htmx.vary(HttpResponse(status=204))


def work_context(access: Access, query: Query, *, is_annotator: bool) -> dict[str, Any]:
    """Context of annotate/workspace/query_work.html, which says who works on the query."""
    assignment = assignment_of(query)
    is_mine = assignment is not None and assignment.holder_id == access.user.pk
    return {
        "assignment": assignment,
        "is_mine": is_mine,
        "is_own_domain": is_annotator,
        "work_reason": why_not(assignment, access.user) if is_annotator else "",
        "today": timezone.localdate(),
    }


@require_http_methods(["GET", "POST"])
def assignments(request: HttpRequest, slug: str) -> HttpResponse:
    """Who works on what, and assigning unassigned queries to people."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    form = AssignForm(sent, benchmark=access.benchmark)
    if htmx.submit(form, _assign, request=request, form=form, access=access):
        return htmx.redirect(request, reverse("assignments", args=[slug]))
    rows = Assignment.objects.in_benchmark(access.benchmark)
    people = [(each.username, each.username) for each in annotators(access.benchmark)]
    choices = {"domain": domain_choices(access.benchmark), "person": people}
    table = ASSIGNMENTS.read(
        rows.select_related("query__domain", "holder"), request.GET, choices=choices
    )
    context = {
        "access": access,
        "table": table,
        "today": timezone.localdate(),
        "free": unassigned(Query.objects.in_benchmark(access.benchmark)).count(),
    }
    template = "annotate/assignments/assignments.html"
    return htmx.render(request, template, context, partial="results", form=form)


@require_http_methods(["GET", "POST"])
def assignment(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One assignment: reassign it, set its day."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_assignment(access, pk)
    form = ReassignForm(
        request.POST if request.method == "POST" else None,
        benchmark=access.benchmark,
        domain=found.query.domain_id,
        initial={"holder": found.holder_id, "due_on": found.due_on},
    )
    if htmx.submit(form, verbs.change_assignment, assignment=found, actor=access.user):
        messages.success(request, f"Saved for {found.query}.")
        return htmx.redirect(request, reverse("assignments", args=[slug]))
    context = {
        "access": access,
        "assignment": found,
        "seconds": ActiveSpan.objects.filter(query=found.query, user=found.holder).seconds(),
    }
    return htmx.render(request, "annotate/assignments/assignment.html", context, form=form)


@require_POST
def assignment_take_away(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End an assignment; anybody of the domain can claim the query then."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_assignment(access, pk)

    def take() -> None:
        verbs.take_away(assignment=found, actor=access.user)

    url = reverse("assignments", args=[slug])
    return htmx.attempt(request, take, url, f"{found.query} is unassigned.")


@require_GET
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the work is, by domain and person, and when it will be done."""
    access = enter(request.user, slug, Role.ADMIN)
    found = read_progress(access.benchmark)
    context = {
        "access": access,
        "progress": found,
        "states": WorkState.choices,
        "piles": [(pile, pile.picture(), pile.table()) for pile in found["piles"]],
    }
    return htmx.render(request, "annotate/assignments/progress.html", context)


@require_GET
def progress_csv(request: HttpRequest, slug: str, what: str) -> HttpResponseBase:
    """What was done and left day by day, as a file."""
    access = enter(request.user, slug, Role.ADMIN)
    for pile in read_progress(access.benchmark)["piles"]:
        if pile.what == what:
            return table_response(f"{slug}-{what}-by-day.csv", pile.table())
    raise Http404("No such work.")


def get_assignment(access: Access, pk: int) -> Assignment:
    """A standing assignment of this benchmark, or 404."""
    rows = Assignment.objects.in_benchmark(access.benchmark)
    rows = rows.select_related("query__domain__benchmark", "holder").filter(pk=pk)
    return first_or_404(rows, "assignment")


def _assign(
    request: HttpRequest, form: AssignForm, access: Access, people: Iterable[User], **data: Any
) -> int:
    """How many; raises Refused where there was none."""
    rows = form.queries().select_related("domain")
    count = len(
        verbs.assign_queries(
            benchmark=access.benchmark,
            queries=rows[: verbs.MOST_AT_ONCE + 1] if not data["most"] else rows,
            people=list(people),
            actor=access.user,
            due_on=data["due_on"],
        )
    )
    if not count:
        raise Refused("No unassigned query is among these.", field="words")
    messages.success(request, f"{count:,} quer{'y' if count == 1 else 'ies'} assigned.")
    return count
