"""A review of a query that somebody holds: its assignment moves along with it."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.assignments.services import claim_query, submit_query, take_back
from annotate.models import Assignment, WorkState
from annotate.review import points
from annotate.review import services as verbs
from annotate.review.models import ASPECT_CHECKS, PASSAGE_CHECKS
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from kit.errors import Refused
from tests.factories import make_passage

GOOD = dict.fromkeys(PASSAGE_CHECKS, True)


@pytest.fixture
def desk(desk):
    claim_query(query=desk.query, actor=desk.author)
    return desk


def state(desk) -> str:
    return Assignment.objects.standing().get(query=desk.query).state


def taken(desk):
    submit_query(query=desk.query, actor=desk.author)
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    return verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)


def ask(desk, review):
    points.check_passage(
        review=review,
        actor=desk.reviewer,
        passage=desk.passages[1],
        checks=GOOD | {"explicit": False},
        reason="topic_only",
        note="It only names the topic.",
    )
    return verbs.ask_changes(review=review, actor=desk.reviewer)


def test_query_that_is_held_is_reviewed_once_it_is_submitted(desk):
    with pytest.raises(Refused, match="not complete"):
        verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    taken(desk)
    assert state(desk) == WorkState.IN_REVIEW
    with pytest.raises(PermissionDenied):
        add_aspect(query=desk.query, actor=desk.author, content="Written during the review.")
    with pytest.raises(Refused):
        take_back(query=desk.query, actor=desk.author)


def test_changes_open_the_query_to_its_author_and_answers_close_it_again(desk):
    review = taken(desk)
    ask(desk, review)
    assert state(desk) == WorkState.CHANGES_REQUESTED
    point = review.points.get(status="raised")
    verbs.answer_point(review=review, point=point, actor=desk.author, agree=True)
    with pytest.raises(Refused, match="a2 has no passage"):
        verbs.send_back(review=review, actor=desk.author)
    assert state(desk) == WorkState.CHANGES_REQUESTED
    other = make_passage(desk.benchmark, "page/7", "biology")
    assign_passage(query=desk.query, passage=other, aspect=desk.aspects[1], actor=desk.author)
    verbs.send_back(review=review, actor=desk.author)
    assert state(desk) == WorkState.IN_REVIEW


def test_review_that_is_given_up_leaves_the_query_submitted(desk):
    review = taken(desk)
    verbs.drop_review(review=review, actor=desk.reviewer)
    assert state(desk) == WorkState.SUBMITTED


def test_accepted_query_is_accepted_work(desk):
    review = taken(desk)
    for key in ASPECT_CHECKS:
        points.check_aspects(review=review, actor=desk.reviewer, key=key, fine=True)
    for aspect in desk.aspects:
        points.check_weight(review=review, actor=desk.reviewer, aspect=aspect, weight=aspect.weight)
    for passage in desk.passages:
        points.check_passage(review=review, actor=desk.reviewer, passage=passage, checks=GOOD)
    verbs.accept_review(review=review, actor=desk.reviewer)
    assert state(desk) == WorkState.ACCEPTED
