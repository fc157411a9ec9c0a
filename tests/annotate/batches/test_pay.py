"""Measured time beside the plan's, and what an hour of voting earns by it."""

from decimal import Decimal

import pytest

from annotate.models import Vote
from annotate.plans.report import pay_sheet
from annotate.voting.services import cast_vote
from tests.annotate.world import make_world, signed_in, write_plan

pytestmark = pytest.mark.django_db
TERMS = {"hourly_pay": Decimal("7.50"), "seconds_per_item": 30, "consent_text": "You agree."}


def voted(world, *seconds: int | None) -> None:
    """One case each: the first voters, with these seconds."""
    case = world.case()
    for voter, each in zip(world.voters, seconds, strict=False):
        cast_vote(case=case, voter=voter, label=1, elapsed_ms=each and each * 1000)


def figures(world, plan):
    return [[cell.value for cell in row] for row in pay_sheet(world.benchmark, plan).rows]


def test_people_who_earn_less_than_they_were_promised_are_seen() -> None:
    world = make_world()
    plan = write_plan(world, **TERMS)
    assert figures(world, plan) == []
    # Medians of the three: 20, 45, 60; of all: (45 + 45) / 2.
    voted(world, 20, 45, 50)
    voted(world, 20, 45, 70)
    voted(world, None, 45, None)
    # 7.50 an hour for 30 seconds an item: 45 seconds earn 7.50 * 30 / 45.
    assert figures(world, plan) == [["All", 7, 45, 30, 3, 2, "5.00"]]
    sheet = pay_sheet(world.benchmark, plan)
    assert "earns 5.00 USD, less than the 7.50" in sheet.notes[0]
    assert "suppose 45 seconds" in sheet.notes[0]
    enough = write_plan(world, seconds_per_item=45)
    assert figures(world, enough) == [["All", 7, 45, 45, 3, 1, "7.50"]]
    assert len(pay_sheet(world.benchmark, enough).notes) == 1


def test_nobody_is_paid_without_a_rate_and_left_votes_are_no_time() -> None:
    world = make_world()
    plan = write_plan(world)
    voted(world, 10, 20)
    Vote.objects.filter(elapsed_ms=20_000).update(abandoned=True)
    assert figures(world, plan) == [["All", 1, 10, 60, 1, 0, "nobody is paid"]]


def test_on_screen_as_a_file_and_by_api() -> None:
    world = make_world()
    write_plan(world, **TERMS)
    voted(world, 60)
    admin = signed_in(world.admin)
    page = admin.get(world.url("voting/")).content.decode()
    assert "Time and pay" in page
    assert "An hour" not in page
    assert "an hour earns 3.75 USD" in page
    lines = b"".join(admin.get(world.url("voting/pay.csv")).streaming_content).decode()
    assert lines.splitlines()[1] == "All,1,60.0,30,1,1,3.75"
    (sheet,) = admin.get(f"/api{world.url('voting/pay/')}").json()
    assert sheet["name"] == "pay"
