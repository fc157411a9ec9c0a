"""Two changes of the people at the same moment: a benchmark keeps an admin."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from corpus.models import Membership
from corpus.services import people
from kit.errors import Refused
from tests.factories import make_benchmark, make_member

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def places() -> list[Membership]:
    benchmark = make_benchmark()
    for name in ("admin-1", "admin-2"):
        make_member(benchmark, name, "admin")
    return list(Membership.objects.select_related("benchmark").order_by("pk"))


def leave(place: Membership) -> None:
    people.remove_person(membership=place, actor=None)


def step_down(place: Membership) -> None:
    people.change_person(membership=place, roles=["annotator"], domains=[], actor=None)


@pytest.mark.parametrize("verb", [leave, step_down])
def test_two_admins_who_go_at_once_leave_one(
    places: list[Membership], verb: Callable[[Membership], None]
) -> None:
    first, second = places
    begun, answers = threading.Event(), []

    def later() -> None:
        begun.wait(10)
        try:
            verb(second)
        except Refused as refusal:
            answers.append(refusal.message)
        finally:
            connection.close()

    other = threading.Thread(target=later)
    other.start()
    with transaction.atomic():
        verb(first)
        begun.set()
        other.join(0.5)  # it waits for us, or has decided by what it cannot know yet
    other.join(30)
    assert [name for name in answers if "at least one admin" in name] == answers != []
    assert [
        place.user.username for place in Membership.objects.all() if "admin" in place.roles
    ] == ["admin-2"]
