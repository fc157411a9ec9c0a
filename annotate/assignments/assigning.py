"""Assignments as admins see them: the list, giving queries to people, passing one on."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.assignments import services as verbs
from annotate.assignments.forms import AssignForm, PassOnForm, annotators
from annotate.assignments.models import WRITABLE, unassigned
from annotate.assignments.progress import read_progress
from annotate.models import ActiveSpan, Assignment, WorkState
from annotate.voting.disputes import domain_choices
from corpus.access import Access, enter
from corpus.models import Query, Role
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Filter, Table


def _by_due(rows: QuerySet[Assignment], value: str) -> QuerySet[Assignment]:
    late = {"due_on__lt": timezone.localdate(), "state__in": WRITABLE}
    return rows.filter(**late) if value == "late" else rows.exclude(due_on=None)


ASSIGNMENTS = Table(
    search=("query__qid", "query__text"),
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("state", "State", choices=WorkState.choices),
        Filter("person", "Holder", lookup="holder__username"),
        Filter("due", "Due", choices=(("late", "Overdue"), ("set", "With a day")), apply=_by_due),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("holder", "Holder", order=("holder__username",)),
        Column("state", "State", order=("state",)),
        Column("due", "Due", order=("due_on",)),
        Column("submitted", "Submitted", order=("submitted_at",)),
        Column("change", "Change"),
    ),
    order=("query__domain__name", "query_id"),
)


@require_http_methods(["GET", "POST"])
def assignments(request: HttpRequest, slug: str) -> HttpResponse:
    """Who holds what, and giving queries that nobody holds to people."""
    access = enter(request.user, slug, Role.ADMIN)
    form = AssignForm(
        request.POST if request.method == "POST" else None, benchmark=access.benchmark
    )
    if request.method == "POST" and form.is_valid():
        try:
            made = _assign(access, form)
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            number = len(made)
            messages.success(request, f"{number:,} quer{'y' if number == 1 else 'ies'} assigned.")
            return htmx.redirect(request, reverse("assignments", args=[slug]))
    rows = Assignment.objects.in_benchmark(access.benchmark)
    people = [(each.username, each.username) for each in annotators(access.benchmark)]
    choices = {"domain": domain_choices(access.benchmark), "person": people}
    table = ASSIGNMENTS.read(
        rows.select_related("query__domain", "holder"), request.GET, choices=choices
    )
    context = {
        "access": access,
        "tab": "assignments",
        "form": form,
        "table": table,
        "today": timezone.localdate(),
        "free": unassigned(Query.objects.in_benchmark(access.benchmark)).count(),
    }
    if form.is_bound:
        return htmx.invalid(request, "annotate/assignments.html", context)
    return htmx.render(request, "annotate/assignments.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def assignment(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One assignment: pass it on, set its day."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_assignment(access, pk)
    form = PassOnForm(
        request.POST if request.method == "POST" else None,
        benchmark=access.benchmark,
        domain=found.query.domain_id,
        initial={"holder": found.holder_id, "due_on": found.due_on},
    )
    if request.method == "POST" and form.is_valid():
        try:
            verbs.change_assignment(assignment=found, actor=access.user, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            messages.success(request, f"Saved for {found.query}.")
            return htmx.redirect(request, reverse("assignments", args=[slug]))
    context = {
        "access": access,
        "tab": "assignments",
        "assignment": found,
        "form": form,
        "seconds": ActiveSpan.objects.filter(query=found.query, user=found.holder).seconds(),
    }
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "annotate/assignment.html", context)


@require_POST
def assignment_take_away(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End an assignment; anybody of the domain can claim the query then."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_assignment(access, pk)
    try:
        verbs.take_away(assignment=found, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    else:
        messages.success(request, f"{found.query} is free again.")
    return htmx.redirect(request, reverse("assignments", args=[slug]))


@require_GET
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the work is, by domain and person, and when it will be done."""
    access = enter(request.user, slug, Role.ADMIN)
    found = read_progress(access.benchmark)
    context = {
        "access": access,
        "tab": "progress",
        "progress": found,
        "states": WorkState.choices,
        "busiest": max([count for _, count in found.days], default=0) or 1,
    }
    return htmx.render(request, "annotate/progress.html", context)


def get_assignment(access: Access, pk: int) -> Assignment:
    """A standing assignment of this benchmark, or 404."""
    rows = Assignment.objects.in_benchmark(access.benchmark)
    found = rows.select_related("query__domain__benchmark", "holder").filter(pk=pk).first()
    if found is None:
        raise Http404("No such assignment.")
    return found


def _assign(access: Access, form: AssignForm) -> list[Assignment]:
    rows = form.queries().select_related("domain")
    data = form.cleaned_data
    made = verbs.assign_queries(
        benchmark=access.benchmark,
        queries=rows[: verbs.MOST_AT_ONCE + 1] if not data["most"] else rows,
        people=list(data["people"]),
        actor=access.user,
        due_on=data["due_on"],
    )
    if not made:
        raise Refused("No query that nobody holds is among these.", field="words")
    return made
