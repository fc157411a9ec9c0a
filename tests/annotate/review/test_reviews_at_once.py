"""Two people take, score or answer the same thing at the same moment: one of them does."""

import pytest

from annotate.exams import bank as exam_bank
from annotate.exams import services as exams
from annotate.models import ExamAnswer, ExamItem, RescoreTask, Review, WeightScore
from annotate.review import rescoring
from annotate.review import services as reviews
from kit.errors import Refused
from tests.annotate.reviewing import make_desk
from tests.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return make_desk()


def test_one_reviewer_takes_a_query(desk) -> None:
    answer = at_once(
        lambda: reviews.start_review(query=desk.query, reviewer=desk.reviewer),
        lambda: reviews.start_review(query=desk.query, reviewer=desk.third),
    )
    assert isinstance(answer, Refused)
    assert Review.objects.get().reviewer == desk.reviewer


def test_one_scorer_does_a_task(desk) -> None:
    rescoring.draw_sample(benchmark=desk.benchmark, actor=desk.admin)
    task = RescoreTask.objects.get()
    answer = at_once(
        lambda: rescoring.score_task(task=task, actor=desk.reviewer, weights=desk.weights),
        lambda: rescoring.score_task(task=task, actor=desk.third, weights=desk.weights),
    )
    assert isinstance(answer, Refused)
    assert set(WeightScore.objects.values_list("scorer", flat=True)) == {desk.reviewer.pk}


def test_blind_scores_sent_twice_are_kept_once(desk) -> None:
    review = reviews.start_review(query=desk.query, reviewer=desk.reviewer)

    def score():
        return reviews.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)

    assert isinstance(at_once(score, score), Refused)
    assert WeightScore.objects.count() == 2


def test_an_exam_answer_sent_twice_is_kept_once(desk) -> None:
    new = [ExamItem(question=f"q{n}", passage="p", label=n % 2) for n in range(10)]
    exam_bank.add_items(domain=desk.query.domain, actor=desk.admin, items=new)
    attempt = exams.start_attempt(person=desk.author, domain=desk.query.domain)

    def answer():
        return exams.answer_item(attempt=attempt, place=0, person=desk.author, label=1)

    assert isinstance(at_once(answer, answer), Refused)
    assert ExamAnswer.objects.count() == 1


def test_one_exam_is_begun(desk) -> None:
    new = [ExamItem(question=f"q{n}", passage="p", label=n % 2) for n in range(10)]
    exam_bank.add_items(domain=desk.query.domain, actor=desk.admin, items=new)

    def start():
        return exams.start_attempt(person=desk.author, domain=desk.query.domain)

    second = at_once(start, start)
    assert len(second.items) == 10
    assert desk.author.exam_attempts.get() == second
