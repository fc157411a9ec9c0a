"""The annotate room's part of the home page: what waits for this person."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotate.adjudication.queue import quick_count
from annotate.answers.rating import to_rate
from annotate.assignments.models import AssignmentQuerySet, unassigned
from annotate.feedback.services import new_messages
from annotate.models import (
    Aspect,
    Assignment,
    Batch,
    BatchStatus,
    Draft,
    EscalationCase,
    PanelStatus,
    ReferencePanel,
)
from annotate.panels.labels import waiting_labels
from annotate.panels.spot_checks import waiting_checks
from annotate.review.queue import my_turn, waiting_for_review
from annotate.review.rescoring import waiting_tasks
from annotate.voting.eligibility import waiting_for
from corpus.access import Access
from corpus.models import Benchmark, Membership, Query
from kit import htmx

MOST_SHOWN = 5


@dataclass(frozen=True)
class Work:
    """What one benchmark asks of one person; None where their roles do not ask it."""

    benchmark: Benchmark
    votes: int | None = None
    bare_queries: int | None = None
    open_disputes: int | None = None
    # Of my queue: the first ones, how many there are, and how many could be claimed.
    queue: tuple[Assignment, ...] = ()
    waiting: int = 0
    free: int | None = None
    # Panels with items to label or labels to look at: (panel, items, labels).
    panels: tuple[tuple[ReferencePanel, int, int], ...] = ()
    # Reviews in which it is this person's turn, queries to review and to score blind.
    reviews: int = 0
    to_review: int | None = None
    to_score: int | None = None
    # Pairs of answers to rate blind.
    to_rate: int = 0
    # For admins: open after their day, and batches rejected in the last week.
    overdue: int | None = None
    rejected_batches: int = 0
    # What waits for a third person, and what an admin wrote to this voter.
    to_settle: int = 0
    new_messages: int = 0


@require_GET
def annotate_home(request: HttpRequest) -> HttpResponse:
    """My queue first, then votes, per benchmark; what waits for reviewers and admins."""
    assert isinstance(request.user, User)
    memberships = Membership.objects.filter(user=request.user).select_related("benchmark", "user")
    works = [_work(Access(request.user, each.benchmark, each)) for each in memberships]
    context = {
        "works": [work for work in works if work is not None],
        "drafts": Draft.objects.of(request.user).count(),
        "today": timezone.localdate(),
    }
    return htmx.render(request, "annotate/home.html", context)


def _work(access: Access) -> Work | None:
    if not (access.is_annotator or access.is_reviewer or access.is_admin):
        return None
    standing = Assignment.objects.in_benchmark(access.benchmark)
    found: dict[str, Any] = {"reviews": my_turn(access).count(), "panels": _panels(access)}
    if access.is_annotator:
        found |= _of_annotator(access, standing)
    found["to_settle"] = quick_count(access)
    if access.is_reviewer:
        cases = EscalationCase.objects.in_benchmark(access.benchmark)
        found["open_disputes"] = cases.open().of_voters().count()
        found["to_review"] = waiting_for_review(access).count()
        found["to_score"] = waiting_tasks(access).count()
        found["to_rate"] = to_rate(access).count()
    if access.is_admin:
        found["overdue"] = standing.overdue(timezone.localdate()).count()
        since = timezone.now() - timedelta(days=7)
        ended = Batch.objects.filter(plan__benchmark=access.benchmark, ended_at__gt=since)
        found["rejected_batches"] = ended.filter(status=BatchStatus.REJECTED).count()
    return Work(access.benchmark, **found)


def _of_annotator(access: Access, standing: AssignmentQuerySet) -> dict[str, Any]:
    mine = standing.filter(holder=access.user).open()
    queries = Query.objects.in_benchmark(access.benchmark).in_domains(access.domain_ids)
    first = mine.select_related("query__domain").in_turn()[:MOST_SHOWN]
    return {
        "queue": tuple(first),
        "waiting": mine.count(),
        "free": unassigned(queries).count(),
        "votes": waiting_for(access).count(),
        "new_messages": new_messages(access),
        "bare_queries": queries.exclude(Exists(present_aspects())).count(),
    }


def _panels(access: Access) -> tuple[tuple[ReferencePanel, int, int], ...]:
    rows = ReferencePanel.objects.filter(benchmark=access.benchmark)
    rows = rows.exclude(status=PanelStatus.PREPARING).select_related("benchmark")
    found = (
        (each, waiting_labels(access, each).count(), waiting_checks(access, each).count())
        for each in rows[:MOST_SHOWN]
    )
    return tuple(each for each in found if any(each[1:]))


def present_aspects() -> QuerySet[Aspect]:
    """Subquery: the present aspects of an outer query."""
    return Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
