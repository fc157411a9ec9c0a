"""Assignments: who may write in which query, and how its work moves on."""

import datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

import annotate
from annotate.assignments import services as work
from annotate.assignments.models import MOVES, unassigned
from annotate.models import Assignment, WorkState
from annotate.workspace.aspects import add_aspect, remove_aspect, save_aspect
from annotate.workspace.collecting import collect_text
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.models import Query
from kit.errors import Refused
from kit.models import Event
from tests.annotate.world import make_world
from tests.at_once import at_once
from tests.factories import make_gold, make_query


@pytest.fixture
def world(db):
    return make_world()


@pytest.fixture
def more(world):
    """Five more queries of biology, two of the weather."""
    made = [make_query(world.benchmark, f"b{n}", "biology") for n in range(5)]
    return made + [make_query(world.benchmark, f"w{n}", "weather") for n in range(2)]


def give(world, queries, *people, **more):
    return work.assign_queries(
        benchmark=world.benchmark, queries=queries, people=people, actor=world.admin, **more
    )


def finish(world, query, actor):
    """Everything that a submission asks for."""
    aspect = add_aspect(query=query, actor=actor, content="Backs to the light.", weight=3)
    assign_passage(query=query, passage=world.passage, aspect=aspect, actor=actor)
    return aspect


def test_queries_go_round_and_only_to_people_of_their_domain(world, more) -> None:
    made = give(world, more, world.voters[0], world.outsider)
    held = {(each.query.domain.name, each.holder.username) for each in made}
    assert held == {
        ("biology", "annotator-1"),
        ("weather", "annotator-1"),
        ("weather", "outsider"),
    }
    assert len(made) == 7
    evenly = give(world, [world.query, make_query(world.benchmark, "9")], *world.voters[:2])
    assert {each.holder for each in evenly} == set(world.voters[:2])


def test_what_is_held_already_stays_where_it_is(world, more) -> None:
    give(world, more[:3], world.voters[0])
    made = give(world, more, world.voters[1])
    assert [each.query for each in made] == more[3:]
    assert Assignment.objects.standing().filter(holder=world.voters[0]).count() == 3
    assert Event.objects.filter(verb="assign query").count() == 7


def test_refusals_of_assigning_name_the_field(world, more) -> None:
    yesterday = timezone.localdate() - datetime.timedelta(days=1)
    for people, due, field in (
        ([], None, "people"),
        ([world.outsider], None, "people"),
        ([world.reviewer], None, "people"),
        ([world.voters[0]], yesterday, "due_on"),
    ):
        with pytest.raises(Refused) as refusal:
            give(world, more[:1], *people, due_on=due)
        assert refusal.value.field == field
    assert not Assignment.objects.exists()


def test_only_the_holder_writes_in_an_assigned_query(world) -> None:
    mine, other = world.voters[:2]
    aspect = add_aspect(query=world.query, actor=other)  # unassigned: open to the domain
    work.claim_query(query=world.query, actor=mine)
    pair = {"query": world.query, "passage": world.passage, "actor": other}
    fields = {"expected": 1, "content": "x", "rationale": "", "weight": 3}
    for verb in (
        lambda: add_aspect(query=world.query, actor=other),
        lambda: save_aspect(aspect=aspect, actor=other, **fields),
        lambda: remove_aspect(aspect=aspect, actor=other),
        lambda: assign_passage(**pair, aspect=aspect),
        lambda: discard_passage(**pair, reason="noise"),
        lambda: undo_verdict(**pair),
        lambda: collect_text(query=world.query, text="A page.", actor=other),
    ):
        with pytest.raises(PermissionDenied, match="annotator-1 works on this query"):
            verb()
    assert save_aspect(aspect=aspect, actor=mine, **fields).content == "x"


def test_every_verb_that_writes_asks_who_holds_the_query() -> None:
    """`require_annotator` is enough for votes only: it does not look at the assignment.

    Answers do so by themselves (`why_not_answer`): they are written whatever the work's state.
    """
    room = Path(annotate.__file__).parent
    asking = {
        path.relative_to(room).parts[0]
        for path in room.rglob("*.py")
        if "require_annotator" in path.read_text()
    }
    assert asking <= {"rights.py", "assignments", "voting", "batches", "answers"}


def test_first_write_begins_the_work(world) -> None:
    mine = work.claim_query(query=world.query, actor=world.voters[0])
    assert mine.state == WorkState.NOT_STARTED
    add_aspect(query=world.query, actor=world.voters[0])
    add_aspect(query=world.query, actor=world.voters[0])
    mine.refresh_from_db()
    assert (mine.state, mine.started_at is not None) == (WorkState.IN_PROGRESS, True)
    assert Event.objects.filter(verb="begin query").count() == 1


def test_submit_needs_the_checklist_and_closes_the_query(world) -> None:
    mine = world.voters[0]
    make_gold(world.query, world.passage)
    with pytest.raises(Refused, match="Not submitted: "):
        work.submit_query(query=world.query, actor=mine)
    assert not Assignment.objects.exists()  # the claim on the way is undone with it
    aspect = finish(world, world.query, mine)
    submitted = work.submit_query(query=world.query, actor=mine)
    assert submitted.state == WorkState.SUBMITTED
    assert submitted.first_submitted_at == submitted.submitted_at
    with pytest.raises(PermissionDenied, match="Take it back"):
        remove_aspect(aspect=aspect, actor=mine)
    with pytest.raises(Refused, match="submitted already"):
        work.submit_query(query=world.query, actor=mine)
    work.take_back(query=world.query, actor=mine)
    add_aspect(query=world.query, actor=mine)


def test_who_did_not_submit_cannot_take_it_back(world) -> None:
    finish(world, world.query, world.voters[0])
    work.submit_query(query=world.query, actor=world.voters[0])
    for verb in (work.take_back, work.submit_query, work.claim_query):
        with pytest.raises(Refused):
            verb(query=world.query, actor=world.voters[1])


def reassign(world, assignment: Assignment, holder: User) -> Assignment:
    """Give a query to somebody else, by the same day as before."""
    due_on, admin = assignment.due_on, world.admin
    return work.change_assignment(assignment=assignment, holder=holder, due_on=due_on, actor=admin)


def test_review_begun_cannot_be_taken_back_and_changes_reopen(world) -> None:
    mine = world.voters[0]
    finish(world, world.query, mine)
    held = work.submit_query(query=world.query, actor=mine)
    assert Assignment.objects.move(held.pk, WorkState.IN_REVIEW)
    with pytest.raises(Refused, match="in second review"):
        work.take_back(query=world.query, actor=mine)
    assert Assignment.objects.move(held.pk, WorkState.CHANGES_REQUESTED)
    add_aspect(query=world.query, actor=mine, content="More.")
    with pytest.raises(Refused, match="stays with"):
        work.unassign_query(query=held.query, actor=mine)
    passed = reassign(world, held, world.voters[1])
    assert passed.state == WorkState.CHANGES_REQUESTED


@pytest.mark.parametrize("state", WorkState.values)
def test_illegal_moves_change_nothing(world, state: str) -> None:
    held = work.claim_query(query=world.query, actor=world.voters[0])
    Assignment.objects.filter(pk=held.pk).update(state=state)
    for to in set(WorkState.values) - MOVES[state]:
        assert not Assignment.objects.move(held.pk, to)
    held.refresh_from_db()
    assert held.state == state


def test_release_claim_and_claim_next(world, more) -> None:
    first, second = world.voters[:2]
    held = work.claim_query(query=world.query, actor=first)
    with pytest.raises(Refused, match="Only its assignee"):
        work.unassign_query(query=held.query, actor=second)
    work.unassign_query(query=held.query, actor=first)
    with pytest.raises(Refused, match="Nobody works"):
        work.unassign_query(query=held.query, actor=first)
    assert work.claim_query(query=world.query, actor=second).pk != held.pk
    weather = {more[-1].domain_id}
    where = {"benchmark": world.benchmark, "domain_ids": weather, "actor": world.outsider}
    taken = {work.claim_next(**where).query for _ in range(2)}
    assert taken == set(more[5:])
    with pytest.raises(Refused, match="Every query of your domains"):
        work.claim_next(**where)
    assert set(unassigned(Query.objects.all())) == set(more[:5])


def test_passing_on_keeps_the_work_and_shuts_the_former_holder_out(world) -> None:
    first, second = world.voters[:2]
    held = work.claim_query(query=world.query, actor=first)
    aspect = add_aspect(query=world.query, actor=first, content="Kept.")
    reassign(world, held, second)
    with pytest.raises(PermissionDenied):
        add_aspect(query=world.query, actor=first)
    assert world.query.aspects.get() == aspect
    with pytest.raises(Refused) as refusal:
        reassign(world, Assignment.objects.standing().get(), world.outsider)
    assert refusal.value.field == "holder"


def test_taking_away_and_due_dates(world) -> None:
    today = timezone.localdate()
    held = work.claim_query(query=world.query, actor=world.voters[0])
    change = {"assignment": held, "holder": held.holder, "actor": world.admin}
    work.change_assignment(**change, due_on=today)
    overdue = Assignment.objects.standing().overdue
    assert not overdue(today).exists()
    assert overdue(today + datetime.timedelta(days=1)).exists()
    work.take_away(assignment=held, actor=world.admin)
    with pytest.raises(Refused):
        work.change_assignment(**change, due_on=None)
    assert unassigned(Query.objects.all()).get() == world.query


def test_queue_begins_with_changes_then_the_earliest_day(world, more) -> None:
    today, mine = timezone.localdate(), world.voters[0]
    later = today + datetime.timedelta(days=3)
    give(world, more[:1], mine)
    give(world, more[1:2], mine, due_on=later)
    give(world, more[2:3], mine, due_on=today)
    (asked,) = give(world, more[3:4], mine)
    Assignment.objects.filter(pk=asked.pk).update(state=WorkState.CHANGES_REQUESTED)
    queue = [each.query for each in Assignment.objects.filter(holder=mine).in_turn()]
    assert queue == [more[3], more[2], more[1], more[0]]


@pytest.mark.django_db(transaction=True)
def test_two_people_claim_one_query_at_the_same_moment() -> None:
    world = make_world()
    first, second = world.voters[:2]
    answer = at_once(
        lambda: work.claim_query(query=world.query, actor=first),
        lambda: work.claim_query(query=world.query, actor=second),
    )
    assert isinstance(answer, Refused)
    assert Assignment.objects.get().holder == first


@pytest.mark.django_db(transaction=True)
def test_write_that_comes_during_the_submission_is_refused() -> None:
    world = make_world()
    mine = world.voters[0]
    finish(world, world.query, mine)
    answer = at_once(
        lambda: work.submit_query(query=world.query, actor=mine),
        lambda: add_aspect(query=world.query, actor=mine),
    )
    assert isinstance(answer, PermissionDenied)
    assert world.query.aspects.count() == 1
