"""The annotate room's part of the home page: what waits for this person."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.models import Aspect, EscalationCase
from annotate.services.rescoring import waiting_tasks
from annotate.services.review_lists import my_turn, waiting_for_review
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
    reviews: int = 0
    to_review: int | None = None
    to_score: int | None = None


@require_GET
def annotate_home(request: HttpRequest) -> HttpResponse:
    """Votes and queries that wait, per benchmark; open disputes for reviewers."""
    assert isinstance(request.user, User)
    memberships = Membership.objects.filter(user=request.user).select_related("benchmark", "user")
    works = [_work(Access(request.user, each.benchmark, each)) for each in memberships]
    context = {"works": [work for work in works if work is not None]}
    return htmx.render(request, "annotate/home.html", context)


def _work(access: Access) -> Work | None:
    votes = bare = disputes = to_review = to_score = None
    reviews = my_turn(access).count()
    if access.is_annotator:
        votes = EscalationCase.objects.awaiting(access.user, access.domain_ids).count()
        queries = Query.objects.in_domains(access.domain_ids).filter(domain__is_ready=True)
        bare = queries.exclude(Exists(present_aspects())).count()
    if access.is_reviewer:
        disputes = EscalationCase.objects.in_benchmark(access.benchmark).open().count()
        to_review = waiting_for_review(access).count()
        to_score = waiting_tasks(access).count()
    if votes is None and disputes is None:
        return None
    return Work(access.benchmark, votes, bare, disputes, reviews, to_review, to_score)


def present_aspects() -> QuerySet[Aspect]:
    """Subquery: the present aspects of an outer query."""
    return Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
