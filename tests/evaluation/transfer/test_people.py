"""What people said at two installations, merged: votes and their cases, aspects, reviews, names."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotate.agreement.people import pair_reports
from annotate.agreement.ratings import BINARY
from annotate.agreement.slices import measured
from annotate.models import (
    Aspect,
    EscalationCase,
    GoldPassage,
    ReferenceItem,
    ReferencePanel,
    Review,
    ReviewPoint,
    SupportLabel,
    Vote,
    VoteSlot,
    WeightScore,
)
from annotate.support.services import adopt_support, record_support
from annotate.voting.agreement import vote_opinions
from annotate.voting.models import altered_cases
from corpus.judgments.services import assessors, record_judgment
from corpus.models import Judgment
from evaluation.models import MergeConflict
from evaluation.transfer.conflicts import choose
from evaluation.transfer.merging.rows import What
from evaluation.transfer.merging.run import Merge
from evaluation.transfer.writing import ALTERED, pseudonyms
from kit.account import people
from kit.account.names import check_name
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_benchmark, make_member, make_passage, make_query, make_user

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def sides() -> SimpleNamespace:
    return SimpleNamespace(a=_side("a"), b=_side("bb"))


def _side(slug: str) -> SimpleNamespace:
    benchmark = make_benchmark(slug)
    query = make_query(benchmark)
    passages = [make_passage(benchmark, f"p{at}") for at in range(4)]
    return SimpleNamespace(benchmark=benchmark, query=query, passages=passages)


def merge(sides: SimpleNamespace) -> What:
    """What came of it; once more changes nothing."""
    report = Merge(sides.a.benchmark, sides.b.benchmark, digest="d" * 64, actor=None).run()
    again = Merge(sides.a.benchmark, sides.b.benchmark, digest="d" * 64, actor=None).run()
    assert (again["added"], again["conflict_count"]) == ({}, 0)
    return report


def stranger(number: int) -> User:
    """Somebody of another installation."""
    return people.stand_in(f"erased-{number:020x}")


def case_of(side: SimpleNamespace, at: int = 0, **fields: Any) -> EscalationCase:
    about = {"query": side.query, "passage": side.passages[at]}
    return EscalationCase.objects.create(origin=f"{side.query.pk}-{at}", **about, **fields)


def vote(case: EscalationCase, voter: User, label: int | None, day: int = 0, **more: Any) -> Vote:
    made = Vote.objects.create(case=case, voter=voter, label=label, **more)
    made.created_at = START + timedelta(days=day)
    Vote.objects.filter(pk=made.pk).update(created_at=made.created_at)
    count = Vote.objects.standing().filter(case=case).count()
    EscalationCase.objects.filter(pk=case.pk).update(votes_in=count)
    return made


def at(row: Any, day: int) -> Any:
    """The row, as given on that day."""
    type(row)._base_manager.filter(pk=row.pk).update(created_at=START + timedelta(days=day))
    row.refresh_from_db()
    return row


# Votes and cases.


def test_votes_of_both_make_one_label_and_one_agreement(sides: SimpleNamespace) -> None:
    # Passage by passage who voted here and there; 3 votes of 4 passages in all:
    #   p0 1 1 | 1    p1 1 0 | 0    p2 0 0 | 0    p3 1 1 | 0
    for place, (ours, theirs) in enumerate((((1, 1), 1), ((1, 0), 0), ((0, 0), 0), ((1, 1), 0))):
        case, there = case_of(sides.a, place), case_of(sides.b, place)
        for who, label in enumerate(ours):
            vote(case, User.objects.get_or_create(username=f"ann{who}")[0], label)
        vote(there, stranger(7), theirs, day=1)
    assert merge(sides)["added"] == {"vote": 4}
    cases = EscalationCase.objects.filter(query=sides.a.query).order_by("pk")
    assert [(c.status, c.label, c.votes_in) for c in cases] == [
        ("closed", 1, 3),
        ("closed", 0, 3),
        ("closed", 0, 3),
        ("closed", 1, 3),
    ]
    ratings = vote_opinions(sides.a.benchmark)
    assert len(ratings) == 12
    # Fleiss: P of the cases 1, 1/3, 1, 1/3, mean 2/3; 6 of 12 labels are 1: Pe = .5;
    # kappa = (2/3 - 1/2) / (1/2) = 1/3.
    assert measured(ratings, BINARY).coefficient("fleiss_kappa").value == pytest.approx(1 / 3)
    # Cohen, ann0 beside the stranger: 1 1 0 1 and 1 0 0 0: 2 of 4 agree; shares of 1: 3/4 and
    # 1/4: Pe = 3/16 + 3/16 = 3/8; kappa = (1/2 - 3/8) / (5/8) = .2.
    pair = {User.objects.get(username="ann0").pk, stranger(7).pk}
    (found,) = (r for r in pair_reports(ratings, BINARY) if {r.first, r.second} == pair)
    kappa = next(each for each in found.coefficients if each.name == "cohen_kappa")
    assert (kappa.value, found.n_items) == (pytest.approx(0.2), 4)


def test_a_case_that_votes_closed_there_brings_its_label_and_no_second_one(
    sides: SimpleNamespace,
) -> None:
    case, there = case_of(sides.a), case_of(sides.b)
    votes = [vote(there, stranger(who), 1, day=who) for who in range(3)]
    label = record_judgment(
        query=sides.b.query,
        passage=sides.b.passages[0],
        label=1,
        source="human",
        provenance={"votes": [each.pk for each in votes], "sureness": 0.0, "swapped": False},
    )
    EscalationCase.objects.filter(pk=there.pk).update(status="closed", label=1, judgment=label)
    merge(sides)
    (made,) = Judgment.objects.filter(query=sides.a.query)
    case.refresh_from_db()
    assert (case.status, case.label, case.judgment) == ("closed", 1, made)
    found = Vote.objects.filter(case=case).order_by("pk")
    assert [each.voter_id for each in found] == [each.voter_id for each in votes]
    assert altered_cases(found) == []
    assert made.provenance == {
        "votes": [each.pk for each in found],
        "sureness": 0.0,
        "swapped": False,
        "merged": "d" * 64,
    }


def test_nobody_votes_on_what_an_expert_decided_there(sides: SimpleNamespace) -> None:
    case, expert = case_of(sides.a), stranger(1)
    record_judgment(
        query=sides.b.query,
        passage=sides.b.passages[0],
        label=0,
        source="expert",
        provenance={},
        actor=expert,
    )
    merge(sides)
    case.refresh_from_db()
    label = Judgment.objects.get(query=sides.a.query)
    assert (case.status, case.label, case.judgment) == ("closed", 0, label)
    assert assessors([label])[label.pk]["person"] == expert.pk


def test_labels_of_a_panel_become_no_label_of_voters(sides: SimpleNamespace) -> None:
    case = case_of(sides.a)
    there = case_of(sides.b, kind="reference")
    panel = ReferencePanel.objects.create(benchmark=sides.b.benchmark, name="panel", seed=1)
    ReferenceItem.objects.create(panel=panel, case=there)
    for who in range(3):
        vote(there, stranger(who), 1)
    EscalationCase.objects.filter(pk=there.pk).update(votes_in=3)
    merge(sides)
    assert not Vote.objects.filter(case=case).exists()
    assert Vote.objects.filter(case__query=sides.a.query, case__kind="reference").count() == 3
    assert not Judgment.objects.exists()


def test_a_case_asks_for_as_many_votes_as_it_still_needs(sides: SimpleNamespace) -> None:
    case = case_of(sides.a)
    there, brought = case_of(sides.b), case_of(sides.b, 1)
    for who in range(2):
        vote(there, stranger(who), 1)
    for who, label in enumerate((1, 0, None)):  # undecided: another voter is asked
        vote(brought, stranger(who), label)
    merge(sides)
    assert VoteSlot.objects.filter(case=case).count() == 1
    made = EscalationCase.objects.get(query=sides.a.query, passage=sides.a.passages[1])
    assert (made.status, made.votes_in, made.slots.count()) == ("open", 3, 1)


def test_a_vote_is_known_by_its_giver_who_may_have_corrected_it(sides: SimpleNamespace) -> None:
    case, there, giver = case_of(sides.a), case_of(sides.b), stranger(1)
    ours = vote(case, giver, 0, day=1)
    newer = vote(there, giver, 1, day=2)
    merge(sides)
    ours.refresh_from_db()
    assert (ours.status, ours.superseded_by) == ("superseded", case.votes.get(label=1))
    # Older ones do not come before newer ones.
    Vote.objects.filter(pk=newer.pk).update(created_at=START)
    vote(case_of(sides.b, 2), giver, 1, day=0)
    vote(case_of(sides.a, 2), giver, 0, day=5)
    merge(sides)
    votes = Vote.objects.filter(case__query=sides.a.query, case__passage=sides.a.passages[2])
    assert [(v.label, v.status) for v in votes] == [(0, "standing"), (1, "superseded")]


def test_altered_votes_and_votes_in_the_name_of_people_of_here_do_not_count(
    sides: SimpleNamespace,
) -> None:
    case_of(sides.a)
    there = case_of(sides.b)
    vote(there, stranger(1), 1, link=ALTERED)
    own, gone = make_user("own"), make_user("gone")
    vote(there, people.stand_in(pseudonyms(sides.a.benchmark)(own.pk)), 1)
    people.erase(person=gone, actor=None)
    vote(there, gone, 1)
    record_judgment(
        query=sides.b.query,
        passage=sides.b.passages[1],
        label=1,
        source="expert",
        provenance={},
        actor=people.stand_in(pseudonyms(sides.a.benchmark)(own.pk)),
    )
    report = merge(sides)
    assert sorted(each["why"] for each in report["left_out"]) == [
        "somebody of this installation gave no such label here",
        *["somebody of this installation gave no such vote here"] * 2,
        "the votes of its case were altered there",
    ]
    assert not Vote.objects.filter(case__query=sides.a.query).exists()
    assert not Judgment.objects.filter(query=sides.a.query).exists()


# Aspects, gold, support and reviews.


def aspect(side: SimpleNamespace, k: int, content: str, day: int, **more: Any) -> Aspect:
    return at(Aspect.objects.create(query=side.query, k=k, content=content, **more), day)


def test_aspects_that_both_imported_are_one_and_others_are_listed_once(
    sides: SimpleNamespace,
) -> None:
    ours = aspect(sides.a, 1, "Cause", 1, weight=5)
    aspect(sides.b, 1, "Cause", 2, weight=4)
    aspect(sides.b, 2, "Cure", 2)
    report = merge(sides)
    assert report["added"] == {"aspect": 1}
    assert [(c["kind"], c["ours"], c["theirs"]) for c in report["conflicts"]] == [
        ("aspect", "Cause (weight 5)", "Cause (weight 4)"),
        ("aspects", "Cause", "Cure"),
    ]
    assert list(Aspect.objects.present().filter(query=sides.a.query)) == [ours]


def test_gold_that_was_taken_back_there_is_a_conflict(sides: SimpleNamespace) -> None:
    for side in (sides.a, sides.b):
        found = aspect(side, 1, "Cause", 1)
        about = {"aspect": found, "query": side.query, "passage": side.passages[0]}
        at(GoldPassage.objects.create(**about), 1)
    GoldPassage.objects.filter(query=sides.b.query).update(ended_at=START)
    (conflict,) = merge(sides)["conflicts"]
    assert (conflict["kind"], conflict["ours"], conflict["theirs"]) == ("gold", "a1", "taken back")
    assert GoldPassage.objects.standing().get().query == sides.a.query


def support(side: SimpleNamespace, label: int, source: str, **more: Any) -> SupportLabel:
    found = Aspect.objects.get(query=side.query)
    about = {"aspect": found, "passage": side.passages[0], "provenance": {}}
    return record_support(label=label, source=source, **about, **more)


def test_support_keeps_its_giver_and_a_choice_does_not_outweigh_an_expert(
    sides: SimpleNamespace,
) -> None:
    for side in (sides.a, sides.b):
        aspect(side, 1, "Cause", 1)
    support(sides.a, 0, "human")
    support(sides.b, 1, "human", actor=stranger(1))
    merge(sides)
    conflict = MergeConflict.objects.get()
    waiting = conflict.support
    assert waiting is not None
    told = Event.objects.get(target_id=str(waiting.pk), verb="label support")
    assert (told.actor, told.scope) == (stranger(1), "a")
    expert = support(sides.a, 0, "expert")
    choose(conflict=conflict, choice="theirs", actor=make_member(sides.a.benchmark, "x"))
    expert.refresh_from_db()
    waiting.refresh_from_db()
    assert (expert.status, waiting.status) == ("standing", "superseded")
    with pytest.raises(Refused, match="waits no more"):
        adopt_support(label=waiting, actor=None)


def test_reviews_name_who_is_who_and_old_scores_do_not_stand_again(
    sides: SimpleNamespace,
) -> None:
    own, reviewer = make_user("own"), stranger(1)
    weighed = [aspect(side, 1, "Cause", 1) for side in (sides.a, sides.b)][1]
    name = pseudonyms(sides.a.benchmark)(own.pk)
    review = Review.objects.create(
        query=sides.b.query,
        reviewer=reviewer,
        author=people.stand_in(name),
        status="accepted",
    )
    label = record_judgment(
        query=sides.b.query, passage=sides.b.passages[0], label=1, source="human", provenance={}
    )
    ReviewPoint.objects.create(
        review=review, kind="weight", aspect=weighed, status="fine", change={"judgment": label.pk}
    )
    about = {"aspect": weighed, "scorer": reviewer, "author_weight": 3, "scale": "likert5"}
    old = WeightScore.objects.create(review=review, weight=5, **about, superseded_by=None)
    Review.objects.create(query=sides.b.query, reviewer=people.stand_in(name), status="dropped")
    report = merge(sides)
    made = Review.objects.get(query=sides.a.query)
    assert (made.author, made.reviewer) == (own, reviewer)
    point = ReviewPoint.objects.get(review=made)
    assert point.change == {"judgment": Judgment.objects.get(query=sides.a.query).pk}
    assert WeightScore.objects.get(aspect__query=sides.a.query).weight == 5
    assert [each["what"] for each in report["left_out"]] == ["review of 1"]
    # Their giver scored it anew since.
    WeightScore.objects.filter(pk=old.pk).update(superseded_by=old)
    new = WeightScore.objects.create(review=review, weight=1, **about)
    WeightScore.objects.filter(pk=old.pk).update(superseded_by=new)
    merge(sides)
    scores = WeightScore.objects.filter(aspect__query=sides.a.query)
    assert [each.weight for each in scores.standing()] == [1]
    assert scores.count() == 2


def test_pseudonyms_are_no_names_for_people(db: None) -> None:
    with pytest.raises(Refused, match="are pseudonyms"):
        check_name("erased-0123456789abcdef0123")
    User.objects.create(username="erased-0123456789abcdef0123")
    with pytest.raises(Refused, match="an account of somebody here"):
        people.stand_in("erased-0123456789abcdef0123")
