"""A review fetched for a person, and its moves by name: shared by the screen and the API."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotate.models import Review
from annotate.services import reviews as verbs
from annotate.services.review_third import unsettle_point
from annotate.services.review_turns import part_of
from corpus.access import Access
from kit.errors import Refused

MOVES = ("ask", "answer", "third", "accept", "drop")


def answer(access: Access, found: Review, point_pk: int, do: str, text: str) -> Any:
    """Call the verb that `do` names on one point; 404 for a point of another review."""
    point = found.points.filter(pk=point_pk).first()
    if point is None:
        raise Http404("No such point.")
    given: dict[str, Any] = {"review": found, "point": point, "actor": access.user, "text": text}
    if do in ("agree", "object"):
        return verbs.answer_point(**given, agree=do == "agree")
    if do == "yield":
        return verbs.yield_point(**given)
    if do == "unsettle":
        return unsettle_point(**given)
    return verbs.settle_point(**given, uphold=do == "uphold")


def go(access: Access, found: Review, verb: str, *, text: str = "", third: str = "") -> Review:
    """Call the verb of a move by its name; 404 for an unknown one."""
    given: dict[str, Any] = {"review": found, "actor": access.user}
    if verb == "third":
        return verbs.ask_third(**given, text=text, third=_third(access, third))
    if verb == "drop":
        return verbs.drop_review(**given)
    moves: dict[str, Callable[..., Review]] = {
        "ask": verbs.ask_changes,
        "answer": verbs.send_back,
        "accept": verbs.accept_review,
    }
    if verb not in moves:
        raise Http404("No such move.")
    return moves[verb](**given, text=text)


def get_review(access: Access, pk: int) -> Review:
    """A review in which the person has a part, or any for admins: 404 outside, 403 otherwise."""
    rows = Review.objects.in_benchmark(access.benchmark)
    rows = rows.select_related("query__domain__benchmark", "reviewer", "author", "third")
    found = rows.filter(pk=pk).first()
    if found is None:
        raise Http404("No such review.")
    if not access.is_admin and part_of(found, access.user) is None:
        raise PermissionDenied("This review is between its author and its reviewer.")
    return found


def _third(access: Access, key: str) -> User:
    known = key.isascii() and key.isdigit() and len(key) < 19
    rows = User.objects.filter(memberships__benchmark=access.benchmark)
    found = rows.filter(pk=int(key)).first() if known else None
    if found is None:
        raise Refused("Choose who settles it.", field="third")
    return found
