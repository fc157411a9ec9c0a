"""The second review: the list of what waits, and one review from blind scores to acceptance."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import PointStatus, Review, ReviewPoint, ReviewStatus
from annotate.review import services as verbs
from annotate.review.acts import get_review
from annotate.review.authorship import authors_of, may_review
from annotate.review.board import ReviewBoard, read_review
from annotate.review.forms import BlindForm
from annotate.review.queue import my_turn, reviews_of, waiting_for_review
from annotate.review.rescoring import unscored, waiting_tasks
from annotate.review.rescoring_views import blind_context
from annotate.review.turns import REVIEWER, TURN, part_of
from annotate.workspace.forms import cleaned
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter, get_own_query
from corpus.models import Membership, Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.lists.tables import Column, Filter, Table

TEMPLATE, PART = "annotate/review/review.html", "answer"
REVIEWS = Table(
    search=("query__qid", "query__text"),
    filters=(Filter("status", "Status", choices=ReviewStatus.choices),),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("status", "Status", order=("status",)),
        Column("reviewer", "Reviewer", order=("reviewer__username",)),
        Column("author", "Author", order=("author__username",)),
        Column("at", "Begun", order=("created_at",)),
    ),
    order=("-pk",),
)
MOST_WAITING = 50


@require_GET
def reviews(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits for this person, and the reviews that are theirs (all of them, for admins)."""
    access = enter(request.user, slug)
    waiting = waiting_for_review(access)
    context = {
        "access": access,
        "waiting": list(waiting[:MOST_WAITING]),
        "waiting_count": waiting.count(),
        "mine": list(my_turn(access)),
        "rescoring": waiting_tasks(access).count() if access.is_reviewer else 0,
        "table": REVIEWS.read(reviews_of(access), request.GET),
    }
    return htmx.render(request, "annotate/review/reviews.html", context, partial="results")


@require_POST
def review_start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take a query for review."""
    access = enter(request.user, slug, Role.REVIEWER)
    query = get_own_query(access, pk)
    return htmx.attempt(
        request,
        partial(verbs.start_review, query=query, reviewer=access.user),
        lambda taken: reverse("review", args=[slug, taken.pk]),
        otherwise=reverse("reviews", args=[slug]),
    )


@require_GET
def review(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One review as this person may see it: blind before the weights are scored."""
    access = enter(request.user, slug)
    found = get_review(access, pk)
    return htmx.render(request, TEMPLATE, review_context(access, found), partial=PART)


@require_POST
def review_scores(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The blind weights, all at once."""
    access = enter(request.user, slug)
    found = get_review(access, pk)
    form = BlindForm(request.POST, aspects=unscored(found.query, access.user))
    if not form.is_valid():
        context = review_context(access, found, request.POST) | {"errors": form.messages}
        return htmx.invalid(request, TEMPLATE, context, partial=PART)
    act = partial(verbs.score_weights, review=found, actor=access.user, weights=form.weights)
    return _do(request, access, found, act)


@require_POST
def review_act(
    request: HttpRequest,
    slug: str,
    pk: int,
    form_class: type[forms.Form],
    act: Callable[..., object],
    **about: Any,
) -> HttpResponse:
    """One of annotate.review.acts, with what its form says; the review as it is then."""
    access = enter(request.user, slug)
    found = get_review(access, pk)

    def do() -> object:
        return act(review=found, actor=access.user, **about, **cleaned(form_class(request.POST)))

    return _do(request, access, found, do)


def review_context(
    access: Access, found: Review, sent: Any = None, after: ReviewPoint | None = None
) -> dict[str, Any]:
    """Everything for the page; nothing of the author's weights while the scores are blind.

    `after` is the point that was just decided: the page goes on behind it.
    """
    part = part_of(found, access.user)
    is_turn = part is not None and part == TURN.get(found.status)
    context: dict[str, Any] = {
        "access": access,
        "review": found,
        "query": found.query,
        "part": part,
        "is_turn": is_turn,
        "is_blind": found.status == ReviewStatus.BLIND,
        "reasons": DiscardReason.choices,
        **reading(found.query),
    }
    if found.status == ReviewStatus.BLIND:
        aspects = unscored(found.query, access.user) if is_turn else []
        return context | blind_context(aspects, sent or {})
    board = read_review(found, part if is_turn else None, after)
    statuses = Counter(entry.status for entry in board.entries)
    context |= {
        "board": board,
        "size": len(board.entries),
        "unseen": statuses[""],
        "seconds_left": _seconds_left(board, statuses[""]) if is_turn else 0,
        "checked": len(board.entries) - statuses[""],
        "raised": statuses[PointStatus.RAISED],
        "objected": statuses[PointStatus.OBJECTED],
        "agreed": statuses[PointStatus.AGREED],
    }
    if part == REVIEWER and not is_turn:
        context["next_review"] = my_turn(access).exclude(pk=found.pk).first()
        context["next_query"] = waiting_for_review(access).first()
    if is_turn and part == REVIEWER and context["objected"]:
        members = Membership.objects.filter(benchmark=access.benchmark).select_related("user")
        taken = {found.reviewer_id, found.author_id} | authors_of(found.query)
        people = [each.user for each in members if each.user_id not in taken]
        context["thirds"] = [each for each in people if may_review(found.query, each)]
    return context


def _do(
    request: HttpRequest, access: Access, found: Review, act: Callable[[], object]
) -> HttpResponse:
    done: object = None
    try:
        done = act()
    except Refused as refusal:
        messages.warning(request, refusal.message)
    except Conflict:
        messages.warning(request, "The author saved this aspect at the same moment. Look again.")
    if not htmx.is_fragment(request):
        slug = access.benchmark.slug
        return htmx.redirect(request, reverse("review", args=[slug, found.pk]))
    after = done if isinstance(done, ReviewPoint) else None
    context = review_context(access, get_review(access, found.pk), after=after)
    return htmx.render(request, TEMPLATE, context, partial=PART)


def _seconds_left(board: ReviewBoard, looks: int) -> float:
    """How long the rest takes at the reviewer's pace, a minute at least; 0 where nobody knows."""
    return max(60, looks * board.seconds_a_look) if looks and board.seconds_a_look else 0
