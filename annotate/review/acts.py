"""What screen and API do alike with one review: fetch what the address names, call the verb."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from annotate.loaders import get_domain_passage
from annotate.models import Review, ReviewPoint
from annotate.review import points
from annotate.review import services as verbs
from annotate.review.turns import part_of
from corpus.access import Access
from kit.api import find_verb
from kit.errors import Refused
from kit.numbers import number

ANSWERS: dict[str, Callable[..., ReviewPoint]] = {
    "agree": partial(verbs.answer_point, agree=True),
    "object": partial(verbs.answer_point, agree=False),
    "yield": verbs.yield_point,
    "uphold": partial(verbs.settle_point, uphold=True),
    "overrule": partial(verbs.settle_point, uphold=False),
    "unsettle": verbs.unsettle_point,
}


def get_review(access: Access, pk: int) -> Review:
    """A review in which the person has a part, or any for admins: 404 outside, 403 otherwise."""
    rows = Review.objects.in_benchmark(access.benchmark).with_people()
    found = get_object_or_404(rows, pk=pk)
    if not access.is_admin and part_of(found, access.user) is None:
        raise PermissionDenied("This review is between its author and its reviewer.")
    return found


def check_weight(*, review: Review, aspect_pk: int, **given: Any) -> ReviewPoint:
    """Keep or change a weight; 404 for an aspect of another query."""
    aspect = get_object_or_404(review.query.aspects, pk=aspect_pk)
    return points.check_weight(review=review, aspect=aspect, **given)


def check_passage(*, review: Review, passage_pk: int, **given: Any) -> ReviewPoint:
    """Keep or remove a passage; 404 for one of another domain."""
    passage = get_domain_passage(review.query, passage_pk)
    return points.check_passage(review=review, passage=passage, **given)


def answer(*, review: Review, actor: User, point_pk: int, do: str, text: str) -> ReviewPoint:
    """Call the verb that `do` names on one point; 404 for a point of another review."""
    point = get_object_or_404(review.points, pk=point_pk)
    return ANSWERS[do](review=review, point=point, actor=actor, text=text)


def move(*, review: Review, actor: User, verb: str, text: str = "", third: str = "") -> Review:
    """Call the verb of a move by its name; 404 for an unknown one."""
    given: dict[str, Any] = {"review": review, "actor": actor}
    if verb == "drop":
        return verbs.drop_review(**given)
    given["text"] = text
    if verb == "third":
        members = User.objects.filter(memberships__benchmark=review.query.domain.benchmark_id)
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
