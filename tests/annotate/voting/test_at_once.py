"""Verdicts, votes and debates of one pair at the same moment follow one another."""

from functools import partial

import pytest

from annotate.models import Aspect, EscalationCase, GoldPassage, Vote, VotingPlan
from annotate.voting.cases import open_case
from annotate.voting.models import altered_cases
from annotate.voting.services import cast_vote
from annotate.voting.slots import next_slot
from annotate.workspace.aspects import add_aspect, save_aspect
from annotate.workspace.gold import assign_passage, discard_passage
from annotate.workspace.remaking import remake
from annotate.workspace.restructuring import Part, split_aspect
from corpus.access import enter
from corpus.judgments.services import record_judgment
from corpus.models import Judgment
from kit.errors import Refused
from tests.annotate.batching import answer_all, make_batch_world, submit, take
from tests.annotate.world import make_snapshot, make_world
from tests.at_once import at_once
from tests.factories import make_gold, make_passage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world():
    return make_world()


@pytest.fixture
def pair(world):
    return {"query": world.query, "passage": world.passage}


def test_deciding_vote_and_a_debate(world) -> None:
    case = world.case()
    for voter in world.voters[:2]:
        cast_vote(case=case, voter=voter, label=1)
    pair = {"query": case.query, "passage": case.passage}
    answer = at_once(
        lambda: record_judgment(**pair, label=0, source="debate", provenance={}),
        lambda: cast_vote(case=case, voter=world.voters[2], label=1),
    )
    assert isinstance(answer, Vote)
    assert Vote.objects.count() == 3
    assert Judgment.objects.standing().values_list("source", "label").get() == ("human", 1)


def test_vote_of_one_tab_while_the_other_takes_a_place(world) -> None:
    case, voter = world.case(), world.voters[0]
    access = enter(voter, world.benchmark.slug)
    plan = VotingPlan.objects.current(world.benchmark)
    answer = at_once(
        lambda: next_slot(access=access, plan=plan),
        lambda: cast_vote(case=case, voter=voter, label=1),
    )
    assert isinstance(answer, Vote)
    assert case.slots.filter(voter=voter).get().vote == answer


def test_two_debates_open_one_case(world, pair) -> None:
    def opened(origin: str) -> EscalationCase:
        return open_case(origin=origin, kind="dispute", **pair, snapshot=make_snapshot())

    answer = at_once(lambda: opened("debate:1"), lambda: opened("debate:2"))
    assert EscalationCase.objects.get() == answer


@pytest.mark.parametrize("discards_first", [True, False])
def test_discard_and_assignment(world, pair, discards_first: bool) -> None:
    aspect = add_aspect(query=world.query, actor=world.voters[0])

    def discard() -> None:
        discard_passage(**pair, reason="noise", actor=world.voters[0])

    def assign() -> None:
        assign_passage(**pair, aspect=aspect, actor=world.voters[1])

    order = (discard, assign) if discards_first else (assign, discard)
    assert at_once(*order) is None
    assert Judgment.objects.standing().get().label == int(discards_first)
    assert GoldPassage.objects.standing().count() == int(discards_first)


def test_vote_and_verdict(world) -> None:
    case = world.case()
    answer = at_once(
        lambda: discard_passage(
            query=case.query, passage=case.passage, reason="noise", actor=world.voters[0]
        ),
        lambda: cast_vote(case=case, voter=world.voters[1], label=1),
    )
    assert isinstance(answer, Refused)
    assert not Vote.objects.exists()


def test_case_opened_while_an_expert_decides(world, pair) -> None:
    answer = at_once(
        lambda: discard_passage(**pair, reason="noise", actor=world.voters[0]),
        lambda: open_case(origin="debate:1", kind="dispute", **pair, snapshot={}),
    )
    assert (answer.status, answer.label) == ("closed", 0)


def test_database_refuses_a_second_case_of_a_pair(world, pair) -> None:
    from django.db import IntegrityError

    EscalationCase.objects.create(origin="debate:1", **pair)
    with pytest.raises(IntegrityError):
        EscalationCase.objects.create(origin="debate:2", **pair)


def test_splitting_and_writing_at_once_lose_no_word(world, pair) -> None:
    aspect = add_aspect(query=world.query, actor=world.voters[0], content="Old.")
    fields = {"content": "Theirs.", "rationale": "", "weight": 3}
    parts = [Part("One.", 3), Part("Two.", 3)]
    answer = at_once(
        lambda: split_aspect(aspect=aspect, parts=parts, actor=world.voters[0], expected=1),
        lambda: save_aspect(aspect=aspect, actor=world.voters[1], expected=1, **fields),
    )
    assert isinstance(answer, Refused)  # and the writer keeps the words in the field
    assert [each.content for each in Aspect.objects.filter(query=world.query).present()] == [
        "One.",
        "Two.",
    ]


def test_an_assignment_beside_a_split_asks(world, pair) -> None:
    aspect = add_aspect(query=world.query, actor=world.voters[0], content="Old.")
    parts = [Part("One.", 3), Part("Two.", 3)]
    at_once(
        lambda: assign_passage(**pair, aspect=aspect, actor=world.voters[1]),
        lambda: split_aspect(aspect=aspect, parts=parts, actor=world.voters[0], expected=1),
    )
    assert GoldPassage.objects.asking().get().passage == world.passage


def test_two_people_merge_the_same_passages(world) -> None:
    aspect = add_aspect(query=world.query, actor=world.voters[0], content="Point.")
    pages = [
        make_passage(world.benchmark, f"moths/m_{n}.txt", "biology", text=f"Text {n}.")
        for n in range(2)
    ]
    make_gold(world.query, *pages)
    given = {"query": world.query, "passages": pages, "aspect": aspect}
    answer = at_once(
        lambda: remake(**given, actor=world.voters[0]),
        lambda: remake(**given, actor=world.voters[1]),
    )
    assert isinstance(answer, Refused)
    assert GoldPassage.objects.standing().count() == 1


def test_two_batches_with_the_same_cases_chain_their_votes() -> None:
    world = make_batch_world(cases=3)
    batches = [take(world, voter) for voter in world.voters[:2]]
    for batch in batches:
        answer_all(world, batch)
    answer = at_once(lambda: submit(world, batches[0]), lambda: submit(world, batches[1]))
    assert answer.status == "accepted"
    assert Vote.objects.count() == 6
    assert altered_cases(Vote.objects.order_by("case", "pk")) == []


def test_two_votes_of_a_case_chain_one_after_the_other(world) -> None:
    case = world.case()
    at_once(*(partial(cast_vote, case=case, voter=each, label=1) for each in world.voters[:2]))
    assert case.votes.count() == 2
    assert altered_cases(Vote.objects.order_by("case", "pk")) == []
