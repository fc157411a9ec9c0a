"""Casting and withdrawing votes (docs/protocol.md 2.4)."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import CaseStatus, Vote
from annotate.voting.cases import open_case
from annotate.voting.models import altered_cases
from annotate.voting.services import cast_vote, withdraw_vote
from corpus.models import Judgment, Source, Status
from kit.errors import Refused
from kit.models import Event
from tests.annotate.world import make_snapshot
from tests.factories import make_member

pytestmark = pytest.mark.django_db


def vote_all(case, voters, labels):
    return [
        cast_vote(
            case=case, voter=voter, label=label, reason="" if label is not None else "cut off"
        )
        for voter, label in zip(voters, labels, strict=False)
    ]


def test_three_votes_close_the_case_with_the_majority(world):
    case = world.case()
    votes = vote_all(case, world.voters, [1, 0, 1])
    case.refresh_from_db()
    assert (case.status, case.label, case.votes_in) == (CaseStatus.CLOSED, 1, 3)
    assert case.closed_at is not None
    label = Judgment.objects.get()
    assert (label.label, label.source, label.status) == (1, Source.HUMAN, Status.STANDING)
    assert case.judgment == label
    assert label.practice is False
    assert label.provenance == {
        "rule": "majority-3",
        "tie_break": "another-voter-then-expert",
        "case": case.pk,
        "votes": [vote.pk for vote in votes],
        "origin": "debate:1",
    }


def test_two_votes_leave_the_case_open(world):
    case = world.case()
    vote_all(case, world.voters, [1, 1])
    case.refresh_from_db()
    assert (case.status, case.label) == (CaseStatus.OPEN, None)
    assert not Judgment.objects.exists()


def test_practice_debate_gives_a_label_of_people(world):
    case = world.case(snapshot=make_snapshot(practice=True))
    vote_all(case, world.voters, [0, 0, 0])
    assert Judgment.objects.get().practice is False


def test_abstention_draws_another_voter(world):
    case = world.case()
    vote_all(case, world.voters, [1, 0, None])
    case.refresh_from_db()
    assert case.status == CaseStatus.OPEN
    cast_vote(case=case, voter=world.voters[3], label=0)
    case.refresh_from_db()
    assert (case.status, case.label, case.votes_in) == (CaseStatus.CLOSED, 0, 4)


def test_five_votes_without_majority_go_to_an_expert(world):
    case = world.case()
    vote_all(case, world.voters, [None, 1, None, 0, None])
    case.refresh_from_db()
    assert (case.status, case.label, case.judgment) == (CaseStatus.EXPERT, None, None)
    assert not Judgment.objects.exists()


def test_second_vote_of_one_person_is_refused(world):
    case = world.case()
    cast_vote(case=case, voter=world.voters[0], label=1)
    with pytest.raises(Refused, match="already"):
        cast_vote(case=case, voter=world.voters[0], label=0)
    case.refresh_from_db()
    assert (case.votes_in, Vote.objects.count()) == (1, 1)


def test_vote_on_a_closed_case_is_refused(world):
    case = world.case()
    vote_all(case, world.voters, [1, 1, 1])
    with pytest.raises(Refused, match="decided"):
        cast_vote(case=case, voter=world.voters[3], label=0)
    assert Vote.objects.count() == 3


def test_abstention_needs_a_reason(world):
    case = world.case()
    with pytest.raises(Refused) as refusal:
        cast_vote(case=case, voter=world.voters[0], label=None, reason="  ")
    assert refusal.value.field == "reason"
    assert not Vote.objects.exists()


def test_only_annotators_of_the_domain_vote(world):
    case = world.case()
    for person in (world.reviewer, world.admin, world.outsider, world.stranger):
        with pytest.raises(PermissionDenied):
            cast_vote(case=case, voter=person, label=1)
    assert not Vote.objects.exists()


def test_admin_who_is_annotator_too_votes(world):
    both = make_member(world.benchmark, "both", "admin", "annotator")
    assert cast_vote(case=world.case(), voter=both, label=1).label == 1


def test_vote_writes_its_event_apart_from_the_benchmarks_list(world):
    case = world.case()
    vote = cast_vote(case=case, voter=world.voters[0], label=1)
    event = Event.objects.get(verb="vote")
    assert (event.actor, event.target_id) == (world.voters[0], str(vote.pk))
    assert not Event.objects.filter(scope="garden", verb="vote").exists()


def test_withdrawn_vote_gives_its_slot_back(world):
    case = world.case()
    vote = cast_vote(case=case, voter=world.voters[0], label=1)
    withdraw_vote(vote=vote, actor=world.voters[0])
    case.refresh_from_db()
    assert case.votes_in == 0
    assert cast_vote(case=case, voter=world.voters[0], label=0).label == 0
    assert list(Vote.objects.values_list("label", "status")) == [(1, "withdrawn"), (0, "standing")]


def test_withdrawn_vote_does_not_count(world):
    case = world.case()
    first, *_ = vote_all(case, world.voters, [1, 1])
    withdraw_vote(vote=first, actor=world.voters[0])
    cast_vote(case=case, voter=world.voters[2], label=1)
    case.refresh_from_db()
    assert case.status == CaseStatus.OPEN


def test_vote_of_a_closed_case_stays(world):
    case = world.case()
    votes = vote_all(case, world.voters, [1, 1, 1])
    with pytest.raises(Refused, match="decided"):
        withdraw_vote(vote=votes[2], actor=world.voters[2])
    case.refresh_from_db()
    assert case.votes_in == 3


def test_vote_of_another_person_cannot_be_withdrawn(world):
    vote = cast_vote(case=world.case(), voter=world.voters[0], label=1)
    with pytest.raises(Refused):
        withdraw_vote(vote=vote, actor=world.voters[1])
    vote.refresh_from_db()
    assert vote.status == "standing"


def test_vote_withdrawn_twice_counts_once(world):
    case = world.case()
    vote = cast_vote(case=case, voter=world.voters[0], label=1)
    cast_vote(case=case, voter=world.voters[1], label=1)
    withdraw_vote(vote=vote, actor=world.voters[0])
    with pytest.raises(Refused):
        withdraw_vote(vote=vote, actor=world.voters[0])
    case.refresh_from_db()
    assert case.votes_in == 1


def test_case_opened_twice_is_one_case(world):
    case = world.case()
    again = open_case(
        origin=case.origin,
        kind="dispute",
        query=case.query,
        passage=case.passage,
        snapshot={"question": "another"},
    )
    again.refresh_from_db()
    assert (again.pk, again.snapshot) == (case.pk, make_snapshot())
    assert Event.objects.filter(verb="open case").count() == 1


def chain(case):
    return Vote.objects.filter(case=case).order_by("pk")


@pytest.fixture
def chained(world):
    """A case with a vote that was replaced, one that was taken back, and two more."""
    case = world.case()
    first, taken_back = vote_all(case, world.voters, [1, 0])
    withdraw_vote(vote=taken_back, actor=world.voters[1])
    cast_vote(case=case, voter=world.voters[0], label=0, replaces=first.pk)
    cast_vote(case=case, voter=world.voters[2], label=None, reason="cut off")
    cast_vote(case=case, voter=world.voters[3], label=0, elapsed_ms=1200, span=None)
    return case


def test_votes_of_a_case_are_chained_as_they_are_cast(chained, world):
    other = world.case()
    vote_all(other, world.voters, [1, 1, 1])
    links = list(Vote.objects.values_list("link", flat=True))
    assert len(set(links)) == 8
    assert {len(link) for link in links} == {64}
    assert altered_cases(Vote.objects.order_by("case", "pk")) == []


CHANGES = {
    "label": lambda vote: {"label": 1 - (vote.label or 0)},
    "reason": lambda vote: {"reason": "It is noise."},
    "condition": lambda vote: {"saw_positions": not vote.saw_positions},
    "first label": lambda vote: {"first_label": 1 - (vote.first_label or 0)},
    "time": lambda vote: {"elapsed_ms": 5},
    "words": lambda vote: {"span_start": 1, "span_end": 4},
    "guideline": lambda vote: {"guideline": 3},
    "no link": lambda vote: {"link": ""},
    "link": lambda vote: {"link": "0" * 64},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "at", [2, *(pytest.param(each, marks=pytest.mark.slow) for each in (0, 1, 3, 4))]
)
def test_a_vote_changed_in_the_database_shows(chained, world, change, at):
    vote = chain(chained)[at]
    Vote.objects.filter(pk=vote.pk).update(**CHANGES[change](vote))
    assert altered_cases(chain(chained)) == [chained.pk]


def test_swapped_voters_and_votes_that_are_gone_show(chained, world):
    one, two = chain(chained)[1], chain(chained)[4]
    Vote.objects.filter(pk=one.pk).update(voter=world.voters[4])
    assert altered_cases(chain(chained)) == [chained.pk]
    Vote.objects.filter(pk=one.pk).update(voter=one.voter)
    assert altered_cases(chain(chained)) == []
    assert altered_cases(chain(chained).exclude(pk=two.pk - 1)) == [chained.pk]


def test_another_secret_key_takes_no_proof_from_votes(chained, world, settings):
    earlier, another = settings.SECRET_KEY, "a key that nobody knew when these votes were cast"
    settings.SECRET_KEY = another
    assert altered_cases(chain(chained)) == []  # the seed stays
    settings.SEED_KEY, settings.SECRET_KEY_FALLBACKS = another, [earlier]
    assert altered_cases(chain(chained)) == []
    settings.SECRET_KEY_FALLBACKS = []
    assert altered_cases(chain(chained)) == [chained.pk]
