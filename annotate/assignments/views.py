"""My queue, and what the holder of a query does with it: claim, release, submit, take back."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.assignments import services as verbs
from annotate.assignments.active_time import note_active
from annotate.assignments.forms import StretchForm
from annotate.assignments.models import HANDED_IN, unassigned
from annotate.loaders import enter_query
from annotate.models import Assignment
from annotate.rights import assignment_of, why_not
from annotate.workspace.checklist import missing
from corpus.access import Access, enter
from corpus.models import Query, Role
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Filter, Table

QUEUE, SUBMIT = "annotate/queue.html", "annotate/submit.html"
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


@require_GET
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits for me, first things first; what I handed in; what I could claim."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    mine = Assignment.objects.in_benchmark(access.benchmark).filter(holder=access.user)
    waiting = mine.open().select_related("query__domain").in_turn()
    free = unassigned(Query.objects.in_benchmark(access.benchmark).in_domains(access.domain_ids))
    context = {
        "access": access,
        "tab": "queue",
        "waiting": list(waiting[:MOST_WAITING]),
        "today": timezone.localdate(),
        "free": free.count(),
        "table": DONE.read(
            mine.filter(state__in=HANDED_IN).select_related("query__domain"), request.GET
        ),
    }
    return htmx.render(request, QUEUE, context, partial="results")


@require_POST
def claim_next(request: HttpRequest, slug: str) -> HttpResponse:
    """Take the next query that nobody holds, and go there."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    try:
        mine = verbs.claim_next(
            benchmark=access.benchmark, domain_ids=access.domain_ids, actor=access.user
        )
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("queue", args=[slug]))
    return htmx.redirect(request, _url(access, mine.query_id))


@require_POST
def query_claim(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take this query."""
    access, query = enter_query(request.user, slug, pk)
    return _do(
        request, access, query, lambda: verbs.claim_query(query=query, actor=access.user), "yours"
    )


@require_POST
def query_release(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Give this query up; what was written stays."""
    access, query = enter_query(request.user, slug, pk)

    def release() -> None:
        assignment = assignment_of(query)
        if assignment is None:
            raise Refused("Nobody holds this query.")
        verbs.release_query(assignment=assignment, actor=access.user)

    return _do(request, access, query, release, "free again; what you wrote stays")


@require_POST
def query_take_back(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Go on writing in a query that I submitted."""
    access, query = enter_query(request.user, slug, pk)
    return _do(
        request,
        access,
        query,
        lambda: verbs.take_back(query=query, actor=access.user),
        "yours to write in again",
    )


@require_http_methods(["GET", "POST"])
def query_submit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What is missing, and handing the query in."""
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
        "tab": "queue",
        "query": query,
        "refusal": refusal,
        "assignment": assignment,
        "reason": why_not(assignment, access.user),
        "blocking": [item for item in items if item.blocking],
        "hints": [item for item in items if not item.blocking],
    }
    show = htmx.invalid if refusal else htmx.render
    return show(request, SUBMIT, context)


@require_POST
def query_time(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A page reports that its reader was at work; counted for who may write in the query."""
    access, query = enter_query(request.user, slug, pk)
    form = StretchForm(request.POST)
    if not form.is_valid():
        return htmx.vary(HttpResponse("start and end are milliseconds since 1970", status=400))
    if not why_not(assignment_of(query), access.user):
        start, end = (_moment(form.cleaned_data[name]) for name in ("start", "end"))
        note_active(query=query, actor=access.user, start=start, end=end)
    return htmx.vary(HttpResponse(status=204))


def work_context(access: Access, query: Query, *, is_annotator: bool) -> dict[str, Any]:
    """What the workspace says about who holds the query: `annotate/query_work.html`."""
    assignment = assignment_of(query)
    is_mine = assignment is not None and assignment.holder_id == access.user.pk
    return {
        "assignment": assignment,
        "is_mine": is_mine,
        "is_own_domain": is_annotator,
        "work_reason": why_not(assignment, access.user) if is_annotator else "",
        "today": timezone.localdate(),
    }


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _do(
    request: HttpRequest, access: Access, query: Query, verb: Callable[[], Any], said: str
) -> HttpResponse:
    try:
        verb()
    except Refused as refusal:
        messages.warning(request, refusal.message)
    else:
        messages.success(request, f"{query} is {said}.")
    return htmx.redirect(request, _url(access, query.pk))


def _url(access: Access, pk: int) -> str:
    return reverse("query", args=[access.benchmark.slug, pk])
