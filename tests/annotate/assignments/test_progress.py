"""The progress page: every number is counted from rows, and leads to them."""

import datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.assignments.progress import pile_of_votes, read_progress
from annotate.assignments.services import assign_queries, note_active
from annotate.models import Assignment, EscalationCase, Vote, WorkState
from tests.annotate.voting.test_cases_decided import vote
from tests.annotate.world import signed_in
from tests.factories import make_query


def fill(world, count, *, days, holder, domain="biology"):
    """So many queries held by a person, each submitted on one of the days ago, or never (None)."""
    made = [make_query(world.benchmark, f"{holder}-{domain}-{n}", domain) for n in range(count)]
    rows = assign_queries(
        benchmark=world.benchmark, queries=made, people=[holder], actor=world.admin
    )
    for row, ago in zip(rows, days, strict=True):
        if ago is not None:
            moment = timezone.now() - datetime.timedelta(days=ago)
            Assignment.objects.filter(pk=row.pk).update(
                state=WorkState.SUBMITTED, submitted_at=moment, first_submitted_at=moment
            )
    return rows


def test_counts_by_domain_and_person(world) -> None:
    one, two = world.voters[:2]
    fill(world, 3, days=[1, 2, None], holder=one)
    fill(world, 1, days=[None], holder=two, domain="weather")
    found = read_progress(world.benchmark)
    biology, weather = found["domains"]
    assert (biology.total, biology.unassigned, biology.handed_in) == (4, 1, 2)
    assert (weather.total, weather.remaining) == (1, 1)
    assert [(p.name, p.total, p.handed_in) for p in found["people"]] == [
        ("annotator-1", 3, 2),
        ("annotator-2", 1, 0),
    ]
    assert (found["total"].total, found["total"].remaining) == (5, 3)
    assert [each["submitted"] for each in found["days"]][-2:] == [1, 1]


def test_steady_work_is_forecast_with_an_interval(world) -> None:
    fill(world, 20, days=[n // 2 + 1 for n in range(20)], holder=world.voters[0])
    for n in range(7):
        make_query(world.benchmark, f"left-{n}", "biology")
    found = read_progress(world.benchmark)
    today = timezone.localdate()
    assert found["total"].remaining == 8
    ends = [found["outlook"][name] for name in ("end_low", "end", "end_high")]
    low, middle, high = ((day - today).days for day in ends)
    assert low < 4 <= middle <= 5 < high < 10


def test_time_and_overdue_are_shown_with_links(world) -> None:
    (row,) = fill(world, 1, days=[None], holder=world.voters[0])
    yesterday = timezone.localdate() - datetime.timedelta(days=1)
    Assignment.objects.filter(pk=row.pk).update(due_on=yesterday)
    now = timezone.now()
    start, end = now - datetime.timedelta(seconds=80), now - datetime.timedelta(seconds=5)
    note_active(query=row.query, actor=world.voters[0], start=start, end=end)
    page = signed_in(world.admin).get(world.url("progress/")).content.decode()
    assert "75 s" in page
    assert f"/assignments/{row.pk}/" in page
    assert "?person=annotator-1&amp;due=late" in page
    late = signed_in(world.admin).get(world.url("assignments/?person=annotator-1&due=late"))
    assert "overdue" in late.content.decode()


def test_more_rows_cost_no_more_queries(world) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            read_progress(world.benchmark)
        return len(captured)

    fill(world, 1, days=[1], holder=world.voters[0])
    few = cost()
    fill(world, 5, days=[1, 2, None, None, 3], holder=world.voters[1])
    fill(world, 2, days=[1, 2], holder=world.voters[2], domain="weather")
    assert cost() == few <= 10


def test_empty_benchmark_says_what_to_do(world) -> None:
    world.query.delete()
    page = signed_in(world.admin).get(world.url("progress/")).content.decode()
    assert "Import a benchmark to begin" in page


def test_votes_left_fall_with_every_vote_and_rise_with_every_case(world) -> None:
    today = timezone.localdate()
    for ago, votes in ((4, (1, 1, 1)), (1, (0,))):
        case = world.case()
        vote(world, case, *votes)
        moment = timezone.now() - datetime.timedelta(days=ago)
        EscalationCase.objects.filter(pk=case.pk).update(created_at=moment)
        Vote.objects.filter(case=case).update(created_at=moment)
    pile = pile_of_votes(world.benchmark, today)
    left = {(today - day).days: (done, left) for day, done, left in pile.days}
    assert left == {5: (0, 0), 4: (3, 0), 3: (0, 0), 2: (0, 0), 1: (1, 2), 0: (0, 2)}
    assert (pile.total, pile.remaining) == (6, 2)
    rows = signed_in(world.admin).get(world.url("progress/votes.csv"))
    assert b"".join(rows.streaming_content).decode().splitlines()[-1] == f"{today},0,2"
    page = signed_in(world.admin).get(world.url("progress/")).content.decode()
    assert 'id="chart-votes"' in page
    assert signed_in(world.admin).get(world.url("progress/work.csv")).status_code == 404
