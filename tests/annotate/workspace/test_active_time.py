"""Time on task: a second counts once, whatever is told twice, late or by several tabs."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotate.assignments.services import claim_query, note_active, uncovered
from annotate.models import ActiveSpan
from tests.annotate.world import signed_in
from tests.factories import make_query


@pytest.fixture
def now():
    return timezone.now()


def at(now, start, end):
    return {"start": now + timedelta(seconds=start), "end": now + timedelta(seconds=end)}


def seconds(**of):
    return round(ActiveSpan.objects.filter(**of).seconds(), 3)


def test_told_twice_counts_once_and_neighbours_are_one_row(world, now) -> None:
    who = {"query": world.query, "actor": world.voters[0], "now": now}
    assert note_active(**who, **at(now, -60, -45)) == 15
    assert note_active(**who, **at(now, -60, -45)) == 0
    assert note_active(**who, **at(now, -45, -30)) == 15
    assert note_active(**who, **at(now, -50, -20)) == 10
    assert (seconds(), ActiveSpan.objects.count()) == (40, 1)


def test_two_tabs_at_two_queries_share_one_clock(world, now) -> None:
    other, me = make_query(world.benchmark, "13", "biology"), world.voters[0]
    note_active(query=world.query, actor=me, now=now, **at(now, -60, -30))
    assert note_active(query=other, actor=me, now=now, **at(now, -60, -20)) == 10
    assert (seconds(query=world.query), seconds(query=other)) == (30, 10)
    note_active(query=other, actor=world.voters[1], now=now, **at(now, -60, -20))
    assert seconds(query=other) == 50


def test_a_stretch_around_another_fills_both_sides(world, now) -> None:
    who = {"query": world.query, "actor": world.voters[0], "now": now}
    note_active(**who, **at(now, -50, -40))
    assert note_active(**who, **at(now, -60, -30)) == 20
    assert seconds() == 30


def test_the_future_the_long_past_and_whole_days_are_cut_off(world, now) -> None:
    who = {"query": world.query, "actor": world.voters[0], "now": now}
    assert note_active(**who, **at(now, -10, 500)) == 10
    assert note_active(**who, **at(now, -86_400, -80_000)) == 0
    assert note_active(**who, **at(now, -600, -100)) == 90
    assert note_active(**who, **at(now, -5, -8)) == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12))
def test_pieces_and_what_is_covered_are_the_union(given_stretches) -> None:
    zero = timezone.now()
    counted: list = []
    seen: set[int] = set()
    for low, high in given_stretches:
        if low >= high:
            continue
        start, end = (zero + timedelta(seconds=n) for n in (low, high))
        pieces = uncovered(start, end, sorted(counted))
        counted += pieces
        seen |= set(range(low, high))
        for piece in pieces:
            assert start <= piece[0] < piece[1] <= end
    assert sum((b - a).total_seconds() for a, b in counted) == len(seen)


def test_screen_counts_for_who_may_write_only(world) -> None:
    url = world.url(f"queries/{world.query.pk}/time/")
    now = int(timezone.now().timestamp() * 1000)
    body = {"start": now - 20_000, "end": now - 5_000}
    mine, other = world.voters[:2]
    claim_query(query=world.query, actor=mine)
    for _ in range(2):
        assert signed_in(mine).post(url, body).status_code == 204
    assert signed_in(other).post(url, body).status_code == 204
    assert (seconds(user=mine), seconds(user=other)) == (15, 0)
    assert signed_in(mine).post(url, {"start": "x"}).status_code == 400
