"""Labelling for a reference panel: the gate, places, blindness, what labels come to."""

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from annotate.exams.services import answer_item
from annotate.models import CaseStatus, ExamItem, GoldPassage, Vote, VoteSlot, VoteStatus
from annotate.panels import labels
from annotate.panels.labels import start_practice
from annotate.panels.settling import decide_reference
from annotate.voting.cases import open_case
from annotate.voting.eligibility import must_judge_first, waiting_for
from annotate.voting.services import AlreadyVoted, cast_vote
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import undo_verdict
from corpus.models import Judgment, Source, Status
from kit.errors import Refused
from kit.models import Event
from tests.annotate.panels.drawing import (
    access_of,
    first_item,
    give,
    make_panel,
    practise,
)
from tests.annotate.world import make_snapshot
from tests.factories import make_member


@pytest.fixture
def panel(world):
    panel = make_panel(world)
    practise(world, panel, *world.voters[:3])
    return panel


@pytest.fixture
def double(world):
    panel = make_panel(world, labels_per_item=2)
    practise(world, panel, *world.voters[:3])
    return panel


def standing(item):
    return Judgment.objects.standing().get(query=item.case.query, passage=item.case.passage)


@pytest.mark.parametrize(
    ("given", "wanted", "state", "label"),
    [
        ([], 1, "open", None),
        ([1], 1, "closed", 1),
        ([0], 1, "closed", 0),
        ([None], 1, "expert", None),
        ([None], 2, "open", None),
        ([1], 2, "open", None),
        ([1, 1], 2, "closed", 1),
        ([1, 0], 2, "expert", None),
        ([None, 0], 2, "expert", None),
        ([None, None], 2, "expert", None),
    ],
)
def test_what_labels_come_to(given, wanted, state, label):
    decision = decide_reference(given, wanted)
    assert (decision.state, decision.label) == (state, label)


def test_five_practice_items_come_before_the_first_real_one(world):
    panel, person = make_panel(world), world.voters[0]
    access, item = access_of(world, person), first_item(panel)
    assert labels.next_item(access=access, panel=panel) is None
    with pytest.raises(Refused, match="practice items"):
        give(world, item, person, 1)
    biology = item.case.query.domain
    attempt = start_practice(access=access, panel=panel, domain=biology)
    assert len(attempt.items) == 5
    for place in range(4):
        answer_item(attempt=attempt, place=place, person=person, label=1)
    assert labels.next_item(access=access, panel=panel) is None
    answer_item(attempt=attempt, place=4, person=person, label=1)
    found = labels.next_item(access=access, panel=panel)
    assert found.case.query.domain == biology  # of weather, practice is still owed


def test_practice_takes_five_of_a_larger_bank(world):
    for more in ExamItem.objects.all():
        more.pk = None
        more.save()
    panel = make_panel(world)
    access = access_of(world, world.voters[0])
    attempt = start_practice(access=access, panel=panel, domain=first_item(panel).case.query.domain)
    assert len(attempt.items) == 5


def test_a_label_closes_the_item_as_an_experts(world, panel):
    item, person = first_item(panel), world.voters[0]
    give(world, item, person, 1, elapsed_ms=4000)
    judgment = standing(item)
    assert (judgment.label, judgment.source) == (1, Source.EXPERT)
    vote = Vote.objects.get()
    assert judgment.provenance == {
        "rule": "reference-1",
        "tie_break": "senior",
        "panel": panel.pk,
        "panel_name": "experts",
        "case": item.case_id,
        "origin": item.case.origin,
        "hints": {},
        "guideline_version": 0,
        "votes": [vote.pk],
    }
    assert (item.case.status, item.case.label) == (CaseStatus.CLOSED, 1)
    event = Event.objects.get(verb="label")
    assert (event.actor, event.target_id) == (person, str(judgment.pk))


def test_two_blind_labels_that_agree_close_it_and_name_nobody_alone(world, double):
    item = first_item(double)
    give(world, item, world.voters[0], 0)
    assert item.case.status == CaseStatus.OPEN
    assert not Judgment.objects.filter(source=Source.EXPERT).exists()
    give(world, item, world.voters[1], 0)
    assert standing(item).provenance["rule"] == "reference-2"
    assert Event.objects.get(verb="label").actor is None


def test_two_labels_that_differ_leave_it_to_a_senior(world, double):
    item = first_item(double)
    give(world, item, world.voters[0], 0)
    give(world, item, world.voters[1], 1)
    assert item.case.status == CaseStatus.EXPERT
    assert not Judgment.objects.filter(source=Source.EXPERT).exists()
    with pytest.raises(Refused):
        give(world, item, world.voters[2], 1)


def test_nobody_labels_an_item_twice_or_beyond_its_places(world, double):
    item = first_item(double)
    give(world, item, world.voters[0], 1)
    with pytest.raises(AlreadyVoted):
        give(world, item, world.voters[0], 1)
    give(world, item, world.voters[1], 1)
    with pytest.raises(Refused):
        give(world, item, world.voters[2], 1)
    assert Vote.objects.count() == 2


def test_a_place_is_kept_for_one_person_until_its_lease_is_over(world, panel):
    one, two = (access_of(world, each) for each in world.voters[:2])
    mine = labels.next_item(access=one, panel=panel)
    assert labels.next_item(access=one, panel=panel) == mine
    theirs = labels.next_item(access=two, panel=panel)
    assert theirs != mine
    VoteSlot.objects.filter(case=mine.case).update(expires_at=timezone.now())
    assert labels.lease_item(access=two, item=mine) is not None
    assert labels.next_item(access=one, panel=panel) not in (mine, theirs)


def test_later_gives_the_place_back(world, panel):
    access = access_of(world, world.voters[0])
    first = labels.next_item(access=access, panel=panel)
    second = labels.next_item(access=access, panel=panel, after=first)
    assert second not in (None, first)
    assert not VoteSlot.objects.held_by(world.voters[0].pk).filter(case=first.case).exists()


def test_what_they_brought_in_or_met_as_a_voter_is_for_others(world, panel):
    item, person = first_item(panel), world.voters[0]
    aspect = add_aspect(query=item.case.query, actor=person, content="turning", weight=3)
    GoldPassage.objects.create(
        query=item.case.query, passage=item.case.passage, aspect=aspect, created_by=person
    )
    access = access_of(world, person)
    assert item.case not in labels.waiting_labels(access, panel)
    with pytest.raises(Refused):
        give(world, item, person, 1)
    dispute = open_case(
        origin="debate:9",
        kind="dispute",
        query=item.case.query,
        passage=item.case.passage,
        snapshot=make_snapshot(),
    )
    voter = world.voters[1]
    cast_vote(case=dispute, voter=voter, label=1)
    assert item.case not in labels.waiting_labels(access_of(world, voter), panel)
    with pytest.raises(Refused, match="judged this pair before"):
        give(world, item, voter, 1)
    assert item.case in labels.waiting_labels(access_of(world, world.voters[2]), panel)


def test_who_labelled_a_pair_is_not_asked_to_vote_on_it(world, double):
    item, person = first_item(double), world.voters[0]
    open_case(
        origin="debate:9",
        kind="dispute",
        query=item.case.query,
        passage=item.case.passage,
        snapshot=make_snapshot(),
    )
    assert waiting_for(access_of(world, person)).count() == 1
    give(world, item, person, 1)
    assert waiting_for(access_of(world, person)).count() == 0
    assert waiting_for(access_of(world, world.voters[1])).count() == 1


def test_items_are_no_disputes_to_voters(world, panel):
    assert waiting_for(access_of(world, world.voters[0])).count() == 0


def test_strangers_to_the_domain_and_other_roles_may_not_label(world, panel):
    item = first_item(panel)
    for person in (world.outsider, world.reviewer, world.admin):
        with pytest.raises(PermissionDenied):
            give(world, item, person, 1)


def test_cannot_be_judged_needs_a_reason_and_goes_to_a_senior(world, panel):
    item = first_item(panel)
    with pytest.raises(Refused) as refused:
        give(world, item, world.voters[0], None)
    assert refused.value.field == "reason"
    give(world, item, world.voters[0], None, reason="cut off")
    assert item.case.status == CaseStatus.EXPERT


def correct(world, item, person, label, reason="misread"):
    item.refresh_from_db()
    return labels.label_item(
        correct=True, item=item, access=access_of(world, person), label=label, reason=reason
    )


def test_a_correction_is_a_new_vote_and_a_new_label(world, panel):
    item, person = first_item(panel), world.voters[0]
    give(world, item, person, 1)
    first = standing(item)
    with pytest.raises(Refused, match="why you change"):
        correct(world, item, person, 0, reason=" ")
    correct(world, item, person, 0)
    first.refresh_from_db()
    assert (first.status, first.superseded_by) == (Status.SUPERSEDED, standing(item))
    assert standing(item).label == 0
    assert [vote.status for vote in Vote.objects.order_by("pk")] == [
        VoteStatus.SUPERSEDED,
        VoteStatus.STANDING,
    ]


def test_a_correction_to_cannot_be_judged_takes_the_label_back(world, panel):
    item, person = first_item(panel), world.voters[0]
    give(world, item, person, 1)
    correct(world, item, person, None)
    item.case.refresh_from_db()
    assert item.case.status == CaseStatus.EXPERT
    assert not Judgment.objects.standing().exists()


def test_the_label_closes_a_dispute_of_its_pair(world, panel):
    item = first_item(panel)
    dispute = open_case(
        origin="debate:9",
        kind="dispute",
        query=item.case.query,
        passage=item.case.passage,
        snapshot=make_snapshot(),
    )
    give(world, item, world.voters[0], 0)
    dispute.refresh_from_db()
    assert (dispute.status, dispute.label) == (CaseStatus.CLOSED, 0)


def test_a_label_of_a_panel_is_not_taken_back_in_the_workspace(world, panel):
    item, person = first_item(panel), world.voters[0]
    give(world, item, person, 1)
    with pytest.raises(Refused, match="panel of experts"):
        undo_verdict(query=item.case.query, passage=item.case.passage, actor=world.voters[1])


def test_who_may_still_label_does_not_read_the_debate(world, double):
    item = first_item(double)
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    pair = {"query_id": item.case.query_id, "passage_id": item.case.passage_id}
    domain = item.case.query.domain_id
    access = access_of(world, both)
    assert must_judge_first(access, **pair, domain_id=domain) == item.case
    practise(world, double, both)
    give(world, item, both, 1)
    assert must_judge_first(access, **pair, domain_id=domain) is None
