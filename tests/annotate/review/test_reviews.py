"""The second review: who may, blind first, asking, answering, settling, accepting."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from annotate.models import Aspect, GoldPassage, Review, WeightScore
from annotate.review import points
from annotate.review import services as verbs
from annotate.review.agreement import verdict_ratings
from annotate.review.authorship import author_of, authors_of, weights_are_hidden
from annotate.review.services import ready_queries, unsettle_point
from annotate.review.views import read_review
from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect, save_aspect
from annotate.workspace.gold import assign_passage, discard_passage
from corpus.models import Document, Judgment, Query
from kit.errors import Refused
from kit.models import Event
from tests.annotate.reviewing import GOOD, KEYS, look_at_all
from tests.factories import make_gold, make_member, make_passage


@pytest.fixture
def review(desk):
    """Scored blind, everything visible."""
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    return verbs.score_weights(review=taken, actor=desk.reviewer, weights=desk.weights)


def lower(desk, review, to=3):
    return points.check_weight(
        review=review, actor=desk.reviewer, aspect=desk.aspects[0], weight=to, note="Not the core."
    )


def remove(desk, review):
    return points.check_passage(
        review=review,
        actor=desk.reviewer,
        passage=desk.passages[1],
        checks=GOOD | {"explicit": False},
        reason="topic_only",
        note="It only names the topic.",
    )


def weight(desk, place=0):
    return Aspect.objects.get(pk=desk.aspects[place].pk).weight


def stands(desk, place=1):
    rows = GoldPassage.objects.standing().filter(query=desk.query, passage=desk.passages[place])
    return rows.exists()


# --- Who may, and when -----------------------------------------------------------------------


def test_passages_of_a_review_follow_their_page(desk):
    page = Document.objects.create(domain=desk.query.domain, doc_id="page", text="a" * 90)
    later, first = (
        make_passage(desk.benchmark, f"page/{start}", "biology", document=page, start=start, end=90)
        for start in (50, 10)
    )
    for passage in (later, first):
        assign_passage(query=desk.query, passage=passage, aspect=desk.aspects[0], actor=desk.author)
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    board = read_review(review, None)
    shown = [entry.row.passage for entry in board.passages if entry.row]
    assert shown[:2] == [first, later]
    assert set(shown[2:]) == set(desk.passages)  # of no page


def test_only_another_reviewer_of_the_domain_may(desk):
    both = make_member(desk.benchmark, "both", "annotator", "reviewer")
    add_aspect(query=desk.query, actor=both)
    for person in (desk.author, desk.outsider, desk.admin, both):
        with pytest.raises(PermissionDenied):
            verbs.start_review(query=desk.query, reviewer=person)


@pytest.mark.parametrize("wrote", ["aspect", "removed", "edit", "assign", "discard"])
def test_whoever_wrote_anything_is_an_author(desk, wrote):
    person = make_member(desk.benchmark, "both", "annotator", "reviewer")
    if wrote in ("aspect", "removed"):
        added = add_aspect(query=desk.query, actor=person)
        if wrote == "removed":
            from annotate.workspace.aspects import remove_aspect

            remove_aspect(aspect=added, actor=desk.author)
    elif wrote == "edit":
        save_aspect(
            aspect=desk.aspects[0], actor=person, expected=1, content="x", rationale="", weight=5
        )
    elif wrote == "assign":
        assign_passage(
            query=desk.query, passage=desk.passages[0], aspect=desk.aspects[1], actor=person
        )
    else:
        other = make_passage(desk.benchmark, "page/9", "biology")
        discard_passage(query=desk.query, passage=other, reason="noise", actor=person)
    assert person.pk in authors_of(desk.query)
    with pytest.raises(PermissionDenied):
        verbs.start_review(query=desk.query, reviewer=person)


def test_the_database_refuses_an_author_as_reviewer_or_third(desk):
    wrong = [
        {"reviewer": desk.author, "author": desk.author},
        {"reviewer": desk.reviewer, "author": desk.author, "third": desk.author},
        {"reviewer": desk.reviewer, "author": desk.author, "third": desk.reviewer},
    ]
    for people in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            Review.objects.create(query=desk.query, **people)
    with pytest.raises(IntegrityError), transaction.atomic():
        WeightScore.objects.create(
            aspect=desk.aspects[0],
            scorer=desk.author,
            author=desk.author,
            weight=3,
            author_weight=5,
            scale="likert5",
            review=Review.objects.create(query=desk.query, reviewer=desk.reviewer),
        )


@pytest.mark.parametrize("missing", ["aspect", "passage", "original"])
def test_work_must_be_complete(desk, missing):
    assert ready_queries(Query.objects.filter(pk=desk.query.pk)).exists()
    if missing == "aspect":
        Aspect.objects.filter(query=desk.query).update(removed_at="2026-01-01T00:00Z")
    elif missing == "passage":
        add_aspect(query=desk.query, actor=desk.author, content="bare")
    else:
        make_gold(desk.query, make_passage(desk.benchmark, "page/8", "biology"))
    assert not ready_queries(Query.objects.filter(pk=desk.query.pk)).exists()
    with pytest.raises(Refused):
        verbs.start_review(query=desk.query, reviewer=desk.reviewer)


def test_two_reviews_do_not_go_on_at_once(desk):
    verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    with pytest.raises(Refused, match="reviewing this query already"):
        verbs.start_review(query=desk.query, reviewer=desk.third)


def test_a_review_given_up_can_be_taken_by_another(desk):
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    with pytest.raises(PermissionDenied):
        verbs.drop_review(review=taken, actor=desk.third)
    verbs.drop_review(review=taken, actor=desk.admin)
    assert verbs.start_review(query=desk.query, reviewer=desk.third).status == "blind"


# --- Blind first -----------------------------------------------------------------------------


def test_nothing_can_be_checked_before_the_weights_are_scored(desk):
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    with pytest.raises(Refused):
        points.check_aspects(review=taken, actor=desk.reviewer, key="sound", fine=True)
    with pytest.raises(Refused):
        verbs.accept_review(review=taken, actor=desk.reviewer)


def test_scores_keep_what_stood_beside_them(desk, review):
    assert review.status == "checking"
    scores = WeightScore.objects.order_by("aspect")
    assert [(each.weight, each.author_weight) for each in scores] == [(4, 5), (2, 2)]
    assert {each.author for each in scores} == {desk.author}
    lower(desk, review)
    assert [each.author_weight for each in WeightScore.objects.order_by("aspect")] == [5, 2]


def test_scores_are_given_once_and_whole(desk):
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    first, second = (each.pk for each in desk.aspects)
    for wrong in ({first: 4}, {first: 4, second: 6}, {first: 4, second: 2, 10**9: 1}, {}):
        with pytest.raises(Refused):
            verbs.score_weights(review=taken, actor=desk.reviewer, weights=wrong)
    assert not WeightScore.objects.exists()
    verbs.score_weights(review=taken, actor=desk.reviewer, weights=desk.weights)
    with pytest.raises(Refused):
        verbs.score_weights(review=taken, actor=desk.reviewer, weights=desk.weights)
    with pytest.raises(PermissionDenied):
        verbs.score_weights(review=taken, actor=desk.third, weights=desk.weights)


def test_weights_are_hidden_until_scored_from_those_who_may_score(desk):
    assert weights_are_hidden(desk.query, desk.reviewer)
    assert weights_are_hidden(desk.query, desk.third)
    assert not any(weights_are_hidden(desk.query, each) for each in (desk.author, desk.admin))
    assert not weights_are_hidden(desk.query, desk.outsider)
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    assert weights_are_hidden(desk.query, desk.reviewer)
    verbs.score_weights(review=taken, actor=desk.reviewer, weights=desk.weights)
    assert not weights_are_hidden(desk.query, desk.reviewer)
    assert weights_are_hidden(desk.query, desk.third)


def test_annotators_of_imported_weights_have_seen_them(desk):
    both = make_member(desk.benchmark, "both", "annotator", "reviewer")
    GoldPassage.objects.update(created_by=None)
    Aspect.objects.update(created_by=None, updated_by=None)
    assert author_of(desk.query) is None
    assert not weights_are_hidden(desk.query, both)
    with pytest.raises(Refused, match="may have seen these weights"):
        verbs.start_review(query=desk.query, reviewer=both)
    taken = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=taken, actor=desk.reviewer, weights=desk.weights)
    lower(desk, taken)
    look_at_all(taken, but=(desk.aspects[0].pk,))
    # Nobody is there to answer: what was changed stands.
    assert verbs.accept_review(review=taken, actor=desk.reviewer).status == "accepted"


# --- Checking --------------------------------------------------------------------------------


def test_accepting_needs_a_look_at_everything(desk, review):
    with pytest.raises(Refused, match="comprehensive"):
        verbs.accept_review(review=review, actor=desk.reviewer)
    look_at_all(review, but=(desk.passages[1],))
    with pytest.raises(Refused, match=r"Still to look at: page/2\."):
        verbs.accept_review(review=review, actor=desk.reviewer)
    look_at_all(review)
    done = verbs.accept_review(review=review, actor=desk.reviewer)
    assert (done.status, Review.objects.get().ended_at is not None) == ("accepted", True)
    assert Event.objects.filter(verb="accept query", actor=desk.reviewer).count() == 1


def test_a_change_needs_its_reason(desk, review):
    for call in (
        lambda: points.check_aspects(
            review=review, actor=desk.reviewer, key="sound", fine=False, note=" "
        ),
        lambda: points.check_weight(
            review=review, actor=desk.reviewer, aspect=desk.aspects[0], weight=1
        ),
        lambda: points.check_passage(
            review=review,
            actor=desk.reviewer,
            passage=desk.passages[1],
            checks=GOOD | {"credible": False},
            reason="noise",
        ),
    ):
        with pytest.raises(Refused) as refusal:
            call()
        assert refusal.value.field == "note"
    assert weight(desk) == 5
    assert stands(desk)


def test_a_removed_passage_gets_an_experts_label_and_can_be_kept_after_all(desk, review):
    remove(desk, review)
    assert not stands(desk)
    label = Judgment.objects.standing().get(query=desk.query, passage=desk.passages[1])
    assert (label.label, label.source, label.provenance["reason"]) == (0, "expert", "topic_only")
    points.check_passage(review=review, actor=desk.reviewer, passage=desk.passages[1], checks=GOOD)
    assert stands(desk)
    label = Judgment.objects.standing().get(query=desk.query, passage=desk.passages[1])
    assert label.label == 1


def test_others_cannot_check(desk, review):
    for person in (desk.author, desk.third, desk.admin):
        with pytest.raises(PermissionDenied):
            points.check_aspects(review=review, actor=person, key="sound", fine=True)


def test_a_reviewer_may_not_vote_or_write_otherwise(desk, review):
    with pytest.raises(PermissionDenied):
        add_aspect(query=desk.query, actor=desk.reviewer)
    from annotate.voting.cases import open_case

    case = open_case(
        origin="debate:1",
        kind="dispute",
        query=desk.query,
        snapshot={},
        passage=make_passage(desk.benchmark, "page/5", "biology"),
    )
    with pytest.raises(PermissionDenied):
        cast_vote(case=case, voter=desk.reviewer, label=1)


# --- Changes asked for, answered, settled ----------------------------------------------------


def asked(desk, review):
    lower(desk, review)
    remove(desk, review)
    points.check_aspects(
        review=review, actor=desk.reviewer, key="balanced", fine=False, note="Split a1."
    )
    look_at_all(review, but=("balanced", desk.aspects[0].pk))
    return verbs.ask_changes(review=review, actor=desk.reviewer, text="Three things.")


def test_nothing_goes_back_without_a_wish(desk, review):
    look_at_all(review)
    with pytest.raises(Refused, match="Nothing is asked for"):
        verbs.ask_changes(review=review, actor=desk.reviewer)


def test_what_was_changed_must_be_answered_before_it_is_accepted(desk, review):
    lower(desk, review)
    look_at_all(review, but=(desk.aspects[0].pk,))
    with pytest.raises(Refused, match="1 point still open"):
        verbs.accept_review(review=review, actor=desk.reviewer)


def test_asked_answered_accepted(desk, review):
    asked(desk, review)
    assert Event.objects.filter(verb="hand back query").count() == 1
    raised = list(review.points.filter(status="raised"))
    assert len(raised) == 3
    with pytest.raises(PermissionDenied):
        verbs.send_back(review=review, actor=desk.reviewer)
    with pytest.raises(Refused, match="Answer every point"):
        verbs.send_back(review=review, actor=desk.author)
    for point in raised:
        verbs.answer_point(review=review, point=point, actor=desk.author, agree=True, text="Done.")
    # The aspect of the removed passage is bare now; the author finds another passage for it.
    other = make_passage(desk.benchmark, "page/7", "biology")
    assign_passage(query=desk.query, passage=other, aspect=desk.aspects[1], actor=desk.author)
    verbs.send_back(review=review, actor=desk.author)
    with pytest.raises(Refused, match=r"Still to look at: page/7\."):
        verbs.accept_review(review=review, actor=desk.reviewer)
    points.check_passage(review=review, actor=desk.reviewer, passage=other, checks=GOOD)
    verbs.accept_review(review=review, actor=desk.reviewer)
    assert weight(desk) == 3
    said = list(review.turns.values_list("part", "verb"))
    assert said[0] == ("reviewer", "take")
    assert said.count(("author", "agree")) == 3
    assert said[-1] == ("reviewer", "accept")


def test_an_objection_needs_a_reason_and_the_reviewer_may_follow_it(desk, review):
    asked(desk, review)
    heavy = review.points.get(kind="weight", status="raised")
    gone = review.points.get(kind="passage", status="raised")
    with pytest.raises(Refused, match="Say why you object"):
        verbs.answer_point(review=review, point=heavy, actor=desk.author, agree=False)
    for point in review.points.filter(status="raised"):
        verbs.answer_point(
            review=review, point=point, actor=desk.author, agree=False, text="No, because."
        )
    verbs.send_back(review=review, actor=desk.author)
    with pytest.raises(Refused, match="The author objects"):
        lower(desk, review, to=2)
    for point in (heavy, gone):
        verbs.yield_point(review=review, point=point, actor=desk.reviewer)
    assert (weight(desk), stands(desk)) == (5, True)
    assert review.turns.filter(verb="yield", data__restored="yes").count() == 2


def objected(desk, review):
    asked(desk, review)
    for point in review.points.filter(status="raised"):
        verbs.answer_point(
            review=review, point=point, actor=desk.author, agree=False, text="No, because."
        )
    return verbs.send_back(review=review, actor=desk.author)


def test_a_third_person_settles_what_stays_open(desk, review):
    objected(desk, review)
    for wrong in (desk.reviewer, desk.author, desk.outsider, desk.admin):
        with pytest.raises(Refused, match="Choose another reviewer"):
            verbs.ask_third(review=review, actor=desk.reviewer, third=wrong)
    verbs.ask_third(review=review, actor=desk.reviewer, third=desk.third)
    heavy, gone, split = (
        review.points.get(status="objected", kind=kind) for kind in ("weight", "passage", "aspects")
    )
    with pytest.raises(PermissionDenied):
        verbs.settle_point(
            review=review, point=heavy, actor=desk.reviewer, uphold=True, text="Mine."
        )
    with pytest.raises(Refused, match="Say why"):
        verbs.settle_point(review=review, point=heavy, actor=desk.third, uphold=True, text="")
    verbs.settle_point(review=review, point=heavy, actor=desk.third, uphold=True, text="Right.")
    assert not weights_are_hidden(desk.query, desk.third)
    verbs.settle_point(review=review, point=gone, actor=desk.third, uphold=False, text="It says.")
    verbs.settle_point(review=review, point=split, actor=desk.third, uphold=True, text="Split.")
    assert (weight(desk), stands(desk)) == (3, True)
    review.refresh_from_db()
    assert review.status == "checking"
    verbs.ask_changes(review=review, actor=desk.reviewer)
    split.refresh_from_db()
    with pytest.raises(Refused, match="third person settled"):
        verbs.answer_point(
            review=review, point=split, actor=desk.author, agree=False, text="Still no."
        )
    verbs.answer_point(review=review, point=split, actor=desk.author, agree=True)
    verbs.send_back(review=review, actor=desk.author)
    look_at_all(review, but=(*KEYS, *(each.pk for each in desk.aspects), desk.passages[1]))
    assert verbs.accept_review(review=review, actor=desk.reviewer).status == "accepted"


def third_hand(desk, review):
    """Three objections before the third person: weight, passage, aspects."""
    objected(desk, review)
    verbs.ask_third(review=review, actor=desk.reviewer, third=desk.third)
    return (
        review.points.get(status="objected", kind=kind) for kind in ("weight", "passage", "aspects")
    )


def test_a_decision_of_a_third_person_can_be_taken_back(desk, review):
    """What it undid is done again, and the point is open as before, the last one included."""
    heavy, gone, split = third_hand(desk, review)
    before = {each.pk: dict(each.change) for each in (heavy, gone, split)}
    for point in (heavy, gone, split):
        verbs.settle_point(review=review, point=point, actor=desk.third, uphold=False, text="So.")
    review.refresh_from_db()
    assert (review.status, weight(desk), stands(desk)) == ("checking", 5, True)
    for person in (desk.reviewer, desk.author, desk.admin):
        with pytest.raises(PermissionDenied, match="Who settled"):
            unsettle_point(review=review, point=heavy, actor=person)
    for point in (heavy, gone, split):
        unsettle_point(review=review, point=point, actor=desk.third, text="A slip.")
    review.refresh_from_db()
    assert (review.status, weight(desk), stands(desk)) == ("third", 3, False)
    open_points = {each.pk: each.change for each in review.points.filter(status="objected")}
    removed = Judgment.objects.standing().get(passage=desk.passages[1], source="expert")
    assert removed.label == 0
    assert open_points == before | {gone.pk: before[gone.pk] | {"judgment": removed.pk}}
    with pytest.raises(Refused, match="not settled"):
        unsettle_point(review=review, point=heavy, actor=desk.third)
    # Settled anew, the other way.
    verbs.settle_point(review=review, point=heavy, actor=desk.third, uphold=True, text="Right.")
    assert weight(desk) == 3
    unsettle_point(review=review, point=heavy, actor=desk.third)
    assert (weight(desk), review.points.get(pk=heavy.pk).change) == (3, before[heavy.pk])
    assert review.turns.filter(verb="take back", part="third").count() == 4


def test_a_decision_that_others_went_on_from_stays(desk, review):
    heavy, gone, split = third_hand(desk, review)
    verbs.settle_point(review=review, point=heavy, actor=desk.third, uphold=False, text="So.")
    current = Aspect.objects.get(pk=desk.aspects[0].pk)
    current.write(expected=current.version, actor=desk.author, weight=4)
    with pytest.raises(Refused, match="changed since"):
        unsettle_point(review=review, point=heavy, actor=desk.third)
    verbs.settle_point(review=review, point=gone, actor=desk.third, uphold=True, text="So.")
    verbs.settle_point(review=review, point=split, actor=desk.third, uphold=True, text="So.")
    verbs.ask_changes(review=review, actor=desk.reviewer)
    with pytest.raises(Refused, match="gone on"):
        unsettle_point(review=review, point=gone, actor=desk.third)


def test_who_was_overruled_still_said_what_they_said(desk, review):
    """The reviewer's verdict in the agreement is their own, whatever a third person decided."""
    _, gone, _ = points_of = tuple(third_hand(desk, review))
    for point in points_of:
        verbs.settle_point(review=review, point=point, actor=desk.third, uphold=False, text="So.")
    verbs.accept_review(review=review, actor=desk.reviewer)
    said = {
        each.rater: each.label for each in verdict_ratings(desk.benchmark) if each.item == gone.pk
    }
    assert said == {"author": 1, "reviewer": 0}


def test_what_others_changed_meanwhile_is_left_as_it_is(desk, review):
    objected(desk, review)
    current = Aspect.objects.get(pk=desk.aspects[0].pk)
    save_aspect(
        aspect=current,
        actor=desk.author,
        expected=current.version,
        content="x",
        rationale="",
        weight=4,
    )
    point = review.points.get(kind="weight", status="objected")
    verbs.yield_point(review=review, point=point, actor=desk.reviewer)
    assert weight(desk) == 4
    assert review.turns.get(verb="yield").data == {"restored": "no"}


def test_turns_are_never_written_over(desk, review):
    first = review.turns.first()
    first.text = "other words"
    with pytest.raises(TypeError):
        first.save()


def test_a_query_reviewed_before_needs_no_second_score_by_the_same_person(desk, review):
    look_at_all(review)
    verbs.accept_review(review=review, actor=desk.reviewer)
    again = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    assert again.status == "checking"
    verbs.drop_review(review=again, actor=desk.reviewer)
    assert verbs.start_review(query=desk.query, reviewer=desk.third).status == "blind"
