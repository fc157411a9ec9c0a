"""The second review: the list of what waits, and one review from blind scores to acceptance."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import (
    PointKind,
    PointStatus,
    Review,
    ReviewPoint,
    ReviewStatus,
    ReviewTurn,
    WeightScore,
)
from annotate.review import services as verbs
from annotate.review.acts import get_review
from annotate.review.authorship import authors_of, may_review
from annotate.review.forms import BlindForm
from annotate.review.models import ASPECT_CHECKS
from annotate.review.rescoring import unscored, waiting_tasks
from annotate.review.rescoring_views import blind_context
from annotate.review.services import my_turn, reviews_of, waiting_for_review
from annotate.review.turns import AUTHOR, REVIEWER, THIRD, TURN, Part, part_of
from annotate.workspace.forms import cleaned
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.board import Board, Card, Row, read_board
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter, get_own_query
from corpus.models import Membership, Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.lists.tables import Column, Filter, Table

ONE_SITTING = 600  # seconds; who does nothing for longer was away
REASONS = dict(DiscardReason.choices)


@dataclass
class Entry:
    """One thing to look at. `point` is None while nobody did; the page begins at `is_current`."""

    kind: str
    name: str
    point: ReviewPoint | None
    key: str = ""
    question: str = ""
    card: Card | None = None
    score: WeightScore | None = None
    row: Row | None = None
    is_current: bool = False

    @property
    def dom_id(self) -> str:
        """Its place on the page."""
        if self.card is not None:
            return f"look-weight-{self.card.aspect.pk}"
        return f"look-passage-{self.row.passage.pk}" if self.row else f"look-{self.key}"

    @property
    def short_name(self) -> str:
        """The last part of a passage's id, which fits beside the page."""
        return self.name.rpartition("/")[2]

    @property
    def is_open(self) -> bool:
        """Whether a change is asked for, or objected to."""
        return self.status in (PointStatus.RAISED, PointStatus.OBJECTED)

    @property
    def needs_look(self) -> bool:
        """Whether the reviewer accepts only after it was in view: undecided, or answered since."""
        return self.status in ("", PointStatus.AGREED)

    @property
    def status(self) -> str:
        """The point's state, or "" before anybody looked."""
        return self.point.status if self.point else ""

    @property
    def is_asked(self) -> bool:
        """Whether the author has it to answer, or may change an answer."""
        return self.status in (PointStatus.RAISED, PointStatus.AGREED, PointStatus.OBJECTED)

    @property
    def may_unsettle(self) -> bool:
        """Whether the third person may still take their decision on it back."""
        if self.point is None or not self.point.change.get("settled"):
            return False
        is_running = self.point.review.status in (ReviewStatus.THIRD, ReviewStatus.CHECKING)
        return is_running and self.status in (PointStatus.SETTLED, PointStatus.RAISED)

    @property
    def change(self) -> str:
        """In words what the reviewer changed."""
        kept = self.point.change if self.point else {}
        if "to" in kept:
            return f"weight {kept['from']} → {kept['to']}"
        if "judgment" in kept:
            return f"removed: {str(REASONS.get(kept.get('reason', ''), 'no gold')).lower()}"
        return ""


@dataclass
class ReviewBoard:
    """A review in full, for somebody who may see all of it."""

    board: Board
    checks: list[Entry]
    weights: list[Entry]
    passages: list[Entry]
    turns: list[ReviewTurn]

    @property
    def pairs(self) -> list[tuple[Entry, list[Entry]]]:
        """Each weight with the passages that support its aspect."""
        return [
            (each, [entry for entry in self.passages if _aspect_of(entry) == each.card.aspect.pk])
            for each in self.weights
            if each.card is not None
        ]

    @property
    def loose(self) -> list[Entry]:
        """Passages under no aspect any more, such as those that were removed."""
        present = {each.card.aspect.pk for each in self.weights if each.card is not None}
        return [entry for entry in self.passages if _aspect_of(entry) not in present]

    @property
    def seconds_a_look(self) -> float | None:
        """The median time between two of the reviewer's moves at one sitting; None before three."""
        at = [each.created_at for each in self.turns if each.part == REVIEWER]
        gaps = [(after - before).total_seconds() for before, after in pairwise(at)]
        known = [each for each in gaps if each < ONE_SITTING]
        return median(known) if len(known) >= 3 else None

    @property
    def entries(self) -> list[Entry]:
        """Everything to look at, in reading order."""
        paired = [entry for weight, passages in self.pairs for entry in (weight, *passages)]
        return paired + self.loose + self.checks


def _place(row: Row) -> tuple[bool, int, int, int]:
    """By page, and on a page from its beginning; last what is of no page."""
    page, passage = row.passage.document_id, row.passage
    return page is None, page or 0, passage.start or 0, passage.pk


def _aspect_of(entry: Entry) -> int | None:
    return entry.row.aspect.pk if entry.row and entry.row.aspect else None


def read_review(review: Review, part: Part | None, after: ReviewPoint | None = None) -> ReviewBoard:
    """Everything about the review, with the entry that waits for this part as the current one.

    Of several it is the next in reading order behind the point `after`, else the first.
    """
    board = read_board(review.query)
    points = list(review.points.select_related("aspect", "passage"))
    by_key = {point.key: point for point in points if point.kind == PointKind.ASPECTS}
    by_aspect = {point.aspect_id: point for point in points if point.aspect_id}
    by_passage = {point.passage_id: point for point in points if point.passage_id}
    blind = WeightScore.objects.standing().by(review.reviewer)
    scores = {each.aspect_id: each for each in blind.filter(aspect__query=review.query_id)}
    checks = [
        Entry("aspects", key.capitalize(), by_key.get(key), key=key, question=question)
        for key, question in ASPECT_CHECKS.items()
    ]
    weights = [
        Entry(
            "weight",
            f"Weight of a{card.aspect.k}",
            by_aspect.get(card.aspect.pk),
            card=card,
            score=scores.get(card.aspect.pk),
        )
        for card in board.cards
    ]
    passages = [
        Entry("passage", row.passage.pid, by_passage.get(row.passage.pk), row=row)
        for row in sorted(board.rows, key=_place)
        if row.aspect is not None or row.passage.pk in by_passage
    ]
    turns = list(review.turns.select_related("actor", "point__aspect", "point__passage"))
    found = ReviewBoard(board, checks, weights, passages, turns)
    if part is not None:
        _mark_current(found.entries, part, after)
    return found


def _mark_current(entries: list[Entry], part: Part, after: ReviewPoint | None) -> None:
    statuses = {
        REVIEWER: ("", PointStatus.AGREED),
        AUTHOR: (PointStatus.RAISED,),
        THIRD: (PointStatus.OBJECTED,),
    }[part]
    waiting = ([place for place, each in enumerate(entries) if each.status == status]
               for status in statuses)  # fmt: skip
    places = next(filter(None, waiting), [])
    here = next((place for place, each in enumerate(entries) if after and each.point == after), -1)
    if places:
        place = next((each for each in places if each > here), places[0])
        entries[place].is_current = True


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
