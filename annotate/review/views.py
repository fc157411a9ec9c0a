"""The second review: the list of what waits, and one review from blind scores to acceptance."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import get_domain_passage, number
from annotate.models import PointStatus, Review, ReviewPoint, ReviewStatus
from annotate.review import forms, points
from annotate.review import services as verbs
from annotate.review.authorship import authors_of, may_review
from annotate.review.board import read_review
from annotate.review.queue import my_turn, reviews_of, waiting_for_review
from annotate.review.rescoring import unscored, waiting_tasks
from annotate.review.rescoring_views import blind_context
from annotate.review.turns import REVIEWER, TURN, part_of
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter, get_own_query
from corpus.models import Membership, Role
from kit import htmx
from kit.api import find_verb
from kit.errors import Conflict, Refused
from kit.tables import Column, Filter, Table


def answer(access: Access, found: Review, point_pk: int, do: str, text: str) -> ReviewPoint:
    """Call the verb that `do` names on one point; 404 for a point of another review."""
    point = get_object_or_404(found.points, pk=point_pk)
    given: dict[str, Any] = {"review": found, "point": point, "actor": access.user, "text": text}
    if do in ("agree", "object"):
        return verbs.answer_point(**given, agree=do == "agree")
    if do == "yield":
        return verbs.yield_point(**given)
    if do == "unsettle":
        return verbs.unsettle_point(**given)
    return verbs.settle_point(**given, uphold=do == "uphold")


def go(access: Access, found: Review, verb: str, *, text: str = "", third: str = "") -> Review:
    """Call the verb of a move by its name; 404 for an unknown one."""
    given: dict[str, Any] = {"review": found, "actor": access.user}
    if verb == "drop":
        return verbs.drop_review(**given)
    given["text"] = text
    if verb == "third":
        members = User.objects.filter(memberships__benchmark=access.benchmark)
        person = members.filter(pk=number(third) or 0).first()
        if person is None:
            raise Refused("Choose who settles it.", field="third")
        return verbs.ask_third(**given, third=person)
    moves: dict[str, Callable[..., Review]] = {
        "ask": verbs.ask_changes,
        "answer": verbs.send_back,
        "accept": verbs.accept_review,
    }
    return find_verb(moves, verb)(**given)


def get_review(access: Access, pk: int) -> Review:
    """A review in which the person has a part, or any for admins: 404 outside, 403 otherwise."""
    rows = Review.objects.in_benchmark(access.benchmark).with_people()
    found = get_object_or_404(rows, pk=pk)
    if not access.is_admin and part_of(found, access.user) is None:
        raise PermissionDenied("This review is between its author and its reviewer.")
    return found


TEMPLATE, PART = "annotate/review.html", "answer"
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
        "tab": "reviews",
        "waiting": list(waiting[:MOST_WAITING]),
        "waiting_count": waiting.count(),
        "mine": list(my_turn(access)),
        "rescoring": waiting_tasks(access).count() if access.is_reviewer else 0,
        "table": REVIEWS.read(reviews_of(access), request.GET),
    }
    return htmx.render(request, "annotate/reviews.html", context, partial="results")


@require_POST
def review_start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take a query for review."""
    access = enter(request.user, slug, Role.REVIEWER)
    query = get_own_query(access, pk)
    try:
        taken = verbs.start_review(query=query, reviewer=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("reviews", args=[slug]))
    return htmx.redirect(request, reverse("review", args=[slug, taken.pk]))


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
    form = forms.BlindForm(request.POST, aspects=unscored(found.query, access.user))
    if not form.is_valid():
        context = review_context(access, found, request.POST) | {"errors": form.messages}
        return htmx.invalid(request, TEMPLATE, context, partial=PART)
    act = partial(verbs.score_weights, review=found, actor=access.user, weights=form.weights)
    return _do(request, access, found, act)


@require_POST
def review_aspects(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """An answer to one of the questions about the aspects."""
    return _check(request, slug, pk, forms.AspectsCheckForm, points.check_aspects)


@require_POST
def review_weight(request: HttpRequest, slug: str, pk: int, aspect_pk: int) -> HttpResponse:
    """A weight kept or changed."""

    def check(*, review: Review, **given: Any) -> Any:
        aspect = get_object_or_404(review.query.aspects, pk=aspect_pk)
        return points.check_weight(review=review, aspect=aspect, **given)

    return _check(request, slug, pk, forms.WeightCheckForm, check)


@require_POST
def review_passage(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """A passage kept or removed."""

    def check(*, review: Review, **given: Any) -> Any:
        passage = get_domain_passage(review.query, passage_pk)
        return points.check_passage(review=review, passage=passage, **given)

    return _check(request, slug, pk, forms.PassageCheckForm, check)


@require_POST
def review_point(request: HttpRequest, slug: str, pk: int, point_pk: int) -> HttpResponse:
    """An answer of the author, a concession of the reviewer, a decision of the third person."""
    access = enter(request.user, slug)
    found = get_review(access, pk)
    form = forms.PointForm(request.POST)
    if not form.is_valid():
        messages.warning(request, forms.first_error(form))
        return _answer(request, access, found)
    act = partial(answer, access, found, point_pk, **form.cleaned_data)
    return _do(request, access, found, act)


@require_POST
def review_move(request: HttpRequest, slug: str, pk: int, verb: str) -> HttpResponse:
    """Hand back, answer, ask a third person, accept, give up."""
    access = enter(request.user, slug)
    found = get_review(access, pk)
    form = forms.MoveForm(request.POST)
    text = form.cleaned_data["text"] if form.is_valid() else ""
    third = request.POST.get("third", "")
    return _do(request, access, found, partial(go, access, found, verb, text=text, third=third))


def review_context(access: Access, found: Review, sent: Any = None) -> dict[str, Any]:
    """Everything for the page; nothing of the author's weights while the scores are blind."""
    part = part_of(found, access.user)
    is_turn = part is not None and part == TURN.get(found.status)
    context: dict[str, Any] = {
        "access": access,
        "tab": "reviews",
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
    board = read_review(found, part if is_turn else None)
    statuses = Counter(entry.status for entry in board.entries)
    context |= {
        "board": board,
        "unseen": statuses[""],
        "raised": statuses[PointStatus.RAISED],
        "objected": statuses[PointStatus.OBJECTED],
        "agreed": statuses[PointStatus.AGREED],
    }
    if is_turn and part == REVIEWER and context["objected"]:
        context["thirds"] = _thirds(found)
    return context


def _thirds(found: Review) -> list[User]:
    places = Membership.objects.filter(benchmark=found.query.domain.benchmark_id)
    taken = {found.reviewer_id, found.author_id} | authors_of(found.query)
    people = [place.user for place in places.select_related("user") if place.user_id not in taken]
    return [person for person in people if may_review(found.query, person)]


def _check(
    request: HttpRequest, slug: str, pk: int, form_class: Any, verb: Callable[..., Any]
) -> HttpResponse:
    access = enter(request.user, slug)
    found = get_review(access, pk)
    form = form_class(request.POST)
    if not form.is_valid():
        messages.warning(request, forms.first_error(form))
        return _answer(request, access, found)
    act = partial(verb, review=found, actor=access.user, **form.cleaned_data)
    return _do(request, access, found, act)


def _do(
    request: HttpRequest, access: Access, found: Review, act: Callable[[], Any]
) -> HttpResponse:
    try:
        act()
    except Refused as refusal:
        messages.warning(request, refusal.message)
    except Conflict:
        messages.warning(request, "The author saved this aspect at the same moment. Look again.")
    return _answer(request, access, found)


def _answer(request: HttpRequest, access: Access, found: Review) -> HttpResponse:
    if not htmx.is_fragment(request):
        slug = access.benchmark.slug
        return htmx.redirect(request, reverse("review", args=[slug, found.pk]))
    context = review_context(access, get_review(access, found.pk))
    return htmx.render(request, TEMPLATE, context, partial=PART)
