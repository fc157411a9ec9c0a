"""The annotate room's part of the home page: what waits for this person."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotate.models import Aspect, Batch, BatchStatus, EscalationCase
from annotate.services.eligibility import waiting_for
from corpus.access import Access
from corpus.models import Benchmark, Membership, Query
from kit import htmx


@dataclass(frozen=True)
class Work:
    """What one benchmark asks of one person; None where their roles do not ask it."""

    benchmark: Benchmark
    votes: int | None = None
    bare_queries: int | None = None
    open_disputes: int | None = None
    rejected_batches: int = 0


@require_GET
def annotate_home(request: HttpRequest) -> HttpResponse:
    """Votes and queries that wait, per benchmark; open disputes for reviewers, rejected batches
    of the last week for admins."""
    assert isinstance(request.user, User)
    memberships = Membership.objects.filter(user=request.user).select_related("benchmark", "user")
    works = [_work(Access(request.user, each.benchmark, each)) for each in memberships]
    context = {"works": [work for work in works if work is not None]}
    return htmx.render(request, "annotate/home.html", context)


def _work(access: Access) -> Work | None:
    votes = bare = disputes = None
    if access.is_annotator:
        votes = waiting_for(access).count()
        queries = Query.objects.in_domains(access.domain_ids).filter(domain__is_ready=True)
        bare = queries.exclude(Exists(present_aspects())).count()
    if access.is_reviewer:
        disputes = EscalationCase.objects.in_benchmark(access.benchmark).open().count()
    rejected = 0
    if access.is_admin:
        since = timezone.now() - timedelta(days=7)
        ended = Batch.objects.filter(plan__benchmark=access.benchmark, ended_at__gt=since)
        rejected = ended.filter(status=BatchStatus.REJECTED).count()
    if votes is None and disputes is None and not rejected:
        return None
    return Work(access.benchmark, votes, bare, disputes, rejected)


def present_aspects() -> QuerySet[Aspect]:
    """Subquery: the present aspects of an outer query."""
    return Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
