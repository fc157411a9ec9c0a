"""The annotate room's part of the home page: what waits for this person."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotate.adjudication.queue import quick_count
from annotate.answers.comparing import to_rate
from annotate.assignments.models import unassigned
from annotate.feedback.services import new_messages
from annotate.models import (
    Assignment,
    Batch,
    BatchStatus,
    Draft,
    EscalationCase,
    PanelStatus,
    ReferencePanel,
)
from annotate.panels.labels import waiting_labels
from annotate.panels.settling import waiting_checks
from annotate.review.queue import my_turn, waiting_for_review
from annotate.review.rescoring import waiting_tasks
from annotate.voting.eligibility import waiting_for
from annotate.workspace.models import present_aspects
from corpus.access import Access
from corpus.models import Membership, Query
from kit import htmx

MOST_SHOWN = 5


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


def _work(access: Access) -> dict[str, Any] | None:
    """What one benchmark asks of one person; None where their roles do not ask it."""
    if not (access.is_annotator or access.is_reviewer or access.is_admin):
        return None
    benchmark = access.benchmark
    standing = Assignment.objects.in_benchmark(benchmark)
    found: dict[str, Any] = {
        "benchmark": benchmark,
        # Reviews in which it is this person's turn, and what waits for a third person.
        "reviews": my_turn(access).count(),
        "to_settle": quick_count(access),
        "panels": _panels(access),
        **dict.fromkeys(("free", "votes", "open_disputes", "overdue")),
    }
    if access.is_annotator:
        mine = standing.filter(holder=access.user).open()
        queries = Query.objects.in_benchmark(benchmark).in_domains(access.domain_ids)
        found |= {
            # Of my queue: the first ones, how many there are, and how many could be claimed.
            "queue": mine.select_related("query__domain").in_turn()[:MOST_SHOWN],
            "waiting": mine.count(),
            "free": unassigned(queries).count(),
            "votes": waiting_for(access).count(),
            "new_messages": new_messages(access),
            "bare_queries": queries.exclude(Exists(present_aspects())).count(),
        }
    if access.is_reviewer:
        cases = EscalationCase.objects.in_benchmark(benchmark)
        found |= {
            "open_disputes": cases.open().of_voters().count(),
            "to_review": waiting_for_review(access).count(),
            # Queries to score and pairs of answers to rate, both blind.
            "to_score": waiting_tasks(access).count(),
            "to_rate": to_rate(access).count(),
        }
    if access.is_admin:
        since = timezone.now() - timedelta(days=7)
        ended = Batch.objects.filter(plan__benchmark=benchmark, ended_at__gt=since)
        found |= {
            "overdue": standing.overdue(timezone.localdate()).count(),
            "rejected_batches": ended.filter(status=BatchStatus.REJECTED).count(),
        }
    return found


def _panels(access: Access) -> tuple[tuple[ReferencePanel, int, int], ...]:
    rows = ReferencePanel.objects.filter(benchmark=access.benchmark)
    rows = rows.exclude(status=PanelStatus.PREPARING).select_related("benchmark")
    found = (
        (each, waiting_labels(access, each).count(), waiting_checks(access, each).count())
        for each in rows[:MOST_SHOWN]
    )
    return tuple(each for each in found if any(each[1:]))
