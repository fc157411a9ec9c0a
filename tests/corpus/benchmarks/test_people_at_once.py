"""Two changes of the people at the same moment: a benchmark keeps an admin."""

from collections.abc import Callable

import pytest

from corpus.benchmarks import services as people
from corpus.models import Membership
from kit.errors import Refused
from tests.at_once import at_once
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
    refusal = at_once(lambda: verb(first), lambda: verb(second))
    assert isinstance(refusal, Refused)
    assert "at least one admin" in refusal.message
    assert [
        place.user.username for place in Membership.objects.all() if "admin" in place.roles
    ] == ["admin-2"]
