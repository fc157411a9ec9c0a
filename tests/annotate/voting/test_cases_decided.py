"""An expert's verdict on a pair that people vote on closes its case; taken back, it reopens it."""

import pytest

from annotate.models import CaseStatus, Vote
from annotate.voting.eligibility import waiting_for
from annotate.voting.services import cast_vote, withdraw_vote
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.access import enter
from corpus.models import Judgment
from kit.errors import Refused
from kit.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def case(world):
    return world.case()


def vote(world, case, *labels: int | None) -> list[Vote]:
    return [
        cast_vote(case=case, voter=voter, label=label, reason="cut off")
        for voter, label in zip(world.voters, labels, strict=False)
    ]


def discard(world, case) -> Judgment:
    pair = {"query": case.query, "passage": case.passage}
    return discard_passage(**pair, reason="noise", actor=world.voters[4])


def assign(world, case) -> None:
    aspect = add_aspect(query=case.query, actor=world.voters[4])
    pair = {"query": case.query, "passage": case.passage}
    assign_passage(**pair, aspect=aspect, actor=world.voters[4])


def undo(world, case) -> None:
    undo_verdict(query=case.query, passage=case.passage, actor=world.voters[4])


def state(case) -> tuple[str, int | None]:
    case.refresh_from_db()
    return case.status, case.label


def test_discard_closes_an_open_case(world, case) -> None:
    verdict = discard(world, case)
    assert state(case) == (CaseStatus.CLOSED, 0)
    assert case.judgment == verdict
    assert case.closed_at is not None
    event = Event.objects.get(verb="close case")
    assert (event.actor, event.scope) == (world.voters[4], "garden#votes")


def test_assignment_closes_a_case_that_waits_for_an_expert(world, case) -> None:
    vote(world, case, None, 1, None, 0, None)
    assert state(case) == (CaseStatus.EXPERT, None)
    assign(world, case)
    assert state(case) == (CaseStatus.CLOSED, 1)
    assert Vote.objects.standing().count() == 5


def test_nobody_votes_where_an_expert_has_decided(world, case) -> None:
    given = vote(world, case, 1)[0]
    discard(world, case)
    assert not waiting_for(enter(world.voters[1], world.benchmark.slug)).exists()
    with pytest.raises(Refused, match="decided"):
        cast_vote(case=case, voter=world.voters[1], label=1)
    with pytest.raises(Refused, match="decided"):
        withdraw_vote(vote=given, actor=world.voters[0])
    assert list(Vote.objects.values_list("label", "status")) == [(1, "standing")]


def test_case_follows_the_next_verdict(world, case) -> None:
    discard(world, case)
    assign(world, case)
    assert state(case) == (CaseStatus.CLOSED, 1)
    undo(world, case)
    assert state(case) == (CaseStatus.CLOSED, 0)
    assert case.judgment == Judgment.objects.standing().get()


def test_undo_gives_the_case_back_to_the_voters(world, case) -> None:
    vote(world, case, 1, 0)
    discard(world, case)
    undo(world, case)
    assert state(case) == (CaseStatus.OPEN, None)
    assert (case.judgment, case.closed_at, case.votes_in) == (None, None, 2)
    assert Event.objects.filter(verb="reopen case").count() == 1
    cast_vote(case=case, voter=world.voters[2], label=1)
    assert state(case) == (CaseStatus.CLOSED, 1)


def test_undo_gives_the_case_back_to_an_expert(world, case) -> None:
    vote(world, case, None, 1, None, 0, None)
    discard(world, case)
    undo(world, case)
    assert state(case) == (CaseStatus.EXPERT, None)


def test_case_that_votes_closed_is_left_alone(world, case) -> None:
    vote(world, case, 1, 1, 0)
    discard(world, case)
    assert state(case) == (CaseStatus.CLOSED, 1)
    undo(world, case)
    assert state(case) == (CaseStatus.CLOSED, 1)
    assert case.judgment.source == "human"


def test_case_of_a_pair_that_an_expert_decided_is_never_open(world) -> None:
    pair = {"query": world.query, "passage": world.passage}
    verdict = discard_passage(**pair, reason="noise", actor=world.voters[0])
    case = world.case(passage=world.passage)
    assert (case.status, case.label, case.judgment) == (CaseStatus.CLOSED, 0, verdict)
    undo_verdict(**pair, actor=world.voters[0])
    assert state(case) == (CaseStatus.OPEN, None)


def test_verdict_on_another_pair_closes_nothing(world, case) -> None:
    other = world.case()
    discard(world, case)
    assert state(other) == (CaseStatus.OPEN, None)
