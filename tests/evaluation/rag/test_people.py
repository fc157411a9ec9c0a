"""People beside graders: who is asked what, blind to whom, and what it corrects."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotate.grading.services import grade_answer, to_grade
from annotate.models import AnswerGrade, GradedAnswer
from corpus.access import enter
from evaluation.judges.card import table_of
from evaluation.judges.cards import cards_of
from evaluation.models import GradeRun, RagAnswer, RagRun
from evaluation.rag import board as boards
from evaluation.rag import people
from evaluation.rag.reading import board_of
from kit.errors import Refused
from tests.annotate.world import signed_in
from tests.evaluation.rag.boards import CONFIG, Sheets
from tests.evaluation.rag.test_board import cells
from tests.factories import make_member

pytestmark = pytest.mark.django_db
GRADES = [1, 1, 1, 1, 0, 0, 0, 0]


@pytest.fixture
def sheets() -> Sheets:
    """One system's answers, of which the last two say nothing; a grader calls four right."""
    sheets = Sheets(8)
    source = sheets.source("run", "bm25", GRADES)
    source.sheet["uninformed"] = 2
    source.save()
    RagAnswer.objects.bulk_create(
        RagAnswer(
            run=sheets.run, source=source, query=query, state="answered", answers=[f"So {n}."],
            is_informed=n < 6,
        )
        for n, query in enumerate(sheets.queries)
    )  # fmt: skip
    grading = sheets.graded("one", {source: GRADES})
    for answer, value in zip(RagAnswer.objects.order_by("pk"), GRADES, strict=True):
        grading.grades.create(answer=answer, state="graded", value=value, said="Surely.")
    sheets.expert = make_member(sheets.benchmark, "expert", "annotator")
    return sheets


def drawn(sheets: Sheets, **options) -> None:
    admin = enter(sheets.admin, sheets.benchmark.slug)
    people.draw(access=admin, run=sheets.run, people=1, **options)


def judge(sheets: Sheets, place: int, right: float) -> AnswerGrade:
    access = enter(sheets.expert, sheets.benchmark.slug)
    answer = GradedAnswer.objects.get(query=sheets.queries[place])
    return grade_answer(answer=answer, access=access, scores={"true": right})


def told_by_command(slug: str, *args: str) -> list[dict[str, object]]:
    """What `judge_sample` prints."""
    out = StringIO()
    call_command("judge_sample", slug, *args, stdout=out)
    told: list[dict[str, object]] = json.loads(out.getvalue())
    return told


def test_the_command_draws_counts_and_closes_as_the_screen_does(sheets) -> None:
    slug, key = sheets.benchmark.slug, str(sheets.run.pk)
    draw = ("--draw", "--answers", key, "--size", "3", "--people", "1", "--as")
    with pytest.raises(CommandError, match="--as with the name of an admin"):
        call_command("judge_sample", slug, *draw, "expert")
    with pytest.raises(CommandError, match="no rag run 99 here"):
        call_command("judge_sample", slug, "--draw", "--answers", "99", "--as", "admin")
    with pytest.raises(CommandError, match="one thing at a time"):
        call_command("judge_sample", slug, *draw, "admin", "--run", "1")
    (row,) = told_by_command(slug, *draw, "admin")
    assert (row["of"], row["drawn"], row["judged"], row["closed"]) == ("truths", 3, 0, False)
    one = to_grade(enter(sheets.expert, slug)).first()
    grade_answer(answer=one, access=enter(sheets.expert, slug), scores={"true": 1.0})
    (row,) = told_by_command(slug)
    assert (row["judged"], row["verdicts"]) == (1, 1)
    (row,) = told_by_command(slug, "--close", str(row["sample"]), "--as", "admin")
    assert row["closed"] is True
    assert to_grade(enter(sheets.expert, slug)).count() == 0


def test_an_expert_sees_answer_and_truth_alone_and_says_right_or_wrong(sheets) -> None:
    admin, expert = signed_in(sheets.admin), signed_in(sheets.expert)
    slug = sheets.benchmark.slug
    url = f"/b/{slug}/rag/{sheets.run.pk}/"
    page = admin.post(f"{url}people/", {"size": 3, "people": 1, "seed": 1}, follow=True)
    assert "0 of 3 answers" in page.content.decode()
    access = enter(sheets.expert, slug)
    assert to_grade(access).count() == 3
    # Nobody who may read what graders say is asked.
    assert to_grade(enter(sheets.admin, slug)).count() == 0
    page = expert.get(f"/b/{slug}/answers/grade/").content.decode()
    assert "True answers" in page
    assert "Surely." not in page
    assert "Overall quality" not in page
    api = f"/api/b/{slug}/answers-to-grade/"
    shown = expert.get(f"{api}next/").json()
    assert (shown["truths"], shown["aspects"], shown["reference"]) == (["so"], [], "")
    found = GradedAnswer.objects.get(pk=shown["answer"])
    assert shown["text"] == found.text
    unsaid = expert.post(f"/b/{slug}/answers/grade/", {"answer": found.pk})
    assert "Say whether it is right." in unsaid.content.decode()
    expert.post(f"/b/{slug}/answers/grade/", {"answer": found.pk, "true": "1"})
    given = AnswerGrade.objects.get()
    assert (given.scores, given.quality, given.grader) == ({"true": 1.0}, None, sheets.expert)
    assert expert.get(f"{api}{found.pk}/").json()["right"] is True
    again = {"right": False, "reason": "It says so elsewhere."}
    sent = expert.post(f"{api}{found.pk}/right/", again, content_type="application/json")
    assert sent.status_code == 204
    assert AnswerGrade.objects.standing().get().scores == {"true": 0.0}
    (row,) = admin.get(f"/api{url.replace('/rag/', '/rag-runs/')}samples/").json()["results"]
    assert (row["drawn"], row["judged"], row["given"]) == (3, 1, 1)
    admin.post(f"/b/{slug}/rag/samples/{row['id']}/close/")
    assert to_grade(access).count() == 0


def test_what_graders_say_is_corrected_by_what_people_say(sheets) -> None:
    drawn(sheets, size=100)
    assert GradedAnswer.objects.count() == 6  # what says nothing is wrong by rule
    assert "corrected" not in {each.name for each in boards.shown(sheets.run).tables}
    for place, right in ((0, 1), (1, 0), (4, 0), (5, 0)):
        judge(sheets, place, right)
    tables = {each.name: each for each in boards.shown(sheets.run).tables}
    found = cells(tables["corrected"], "bm25")
    # Of those called right half are, (1 + 0) / 2, of the others none. Over the six that say
    # something (4 * 1/2 + 2 * 0) / 6 = 1/3, over all eight 6/8 * 1/3 = 1/4, where the grader says
    # 4/8.
    assert (found["answers"], found["majority of graders"]) == (8, 0.5)
    assert (found["judged by people"], found["people call right"]) == (4, 0.25)
    assert found["corrected"] == pytest.approx(0.25)
    (cell,) = [row[-1] for row in tables["corrected"].rows]
    assert 0 < cell.low < 0.25 < cell.high < 1


def test_what_says_nothing_counts_as_wrong_only_where_it_was_graded(sheets) -> None:
    drawn(sheets, size=100)
    judge(sheets, 0, 1)
    judge(sheets, 4, 1)
    # One of the two that say nothing was answered after the grading.
    grading = GradeRun.objects.get()
    grading.sheet = {key: [*GRADES[:-1], None] for key in grading.sheet}
    grading.save()
    (sheet,) = [each for each in boards.shown(sheets.run).tables if each.name == "corrected"]
    found = cells(sheet, "bm25")
    # Seven were graded, four of them right; all six of them that say something are, by people.
    assert (found["answers"], found["majority of graders"]) == (7, 4 / 7)
    assert found["corrected"] == pytest.approx(6 / 7)


@pytest.mark.parametrize(("model", "name"), [("n", "bm25"), ("m", "dense")])
def test_what_was_drawn_of_another_generator_or_system_is_no_sample_of_it(
    sheets, model, name
) -> None:
    drawn(sheets, size=100)
    judge(sheets, 0, 1)
    judge(sheets, 4, 0)
    answers = list(RagAnswer.objects.order_by("pk"))
    sheets.run = RagRun.objects.create(
        benchmark=sheets.benchmark, name="others", harness="short", config=CONFIG, endpoint="e",
        model=model, status="done",
    )  # fmt: skip
    source = sheets.source("run", name, GRADES)
    for answer in answers:  # the same words
        answer.pk, answer.run, answer.source = None, sheets.run, source
    RagAnswer.objects.bulk_create(answers)
    judged = {
        (run.model, system.name): np.flatnonzero(~np.isnan(of)).tolist()
        for run in RagRun.objects.order_by("pk")
        for board in [board_of(run)]
        for system, of in zip(board.systems, board.people, strict=True)
    }
    assert judged == {("m", "bm25"): [0, 4], (model, name): []}


def test_nobody_is_asked_about_a_part_of_a_run(sheets) -> None:
    sheets.run.status = "running"
    with pytest.raises(Refused, match="drawn when their run is done"):
        drawn(sheets)


def test_the_card_of_a_grader_stands_on_people(sheets) -> None:
    drawn(sheets, size=100)
    for place, right in ((0, 1), (1, 0), (4, 0), (5, 0)):
        judge(sheets, place, right)
    (card,) = cards_of(sheets.benchmark)
    by_people = card.measures[0]
    # Both say 1 of the first, 0 of the last two: observed 3/4; expected 2/4 * 1/4 + 2/4 * 3/4 =
    # 1/2; kappa (3/4 - 1/2) / (1 - 1/2) = 1/2.
    assert by_people.beside == "people"
    assert by_people.kappa(held_out=True).value == pytest.approx(0.5)
    assert any("held out" in str(row[0].value) for row in table_of(card).rows)
    # Whoever wrote a later prompt could have seen what people said.
    later = sheets.graded("two", {})
    GradeRun.objects.filter(pk=later.pk).update(config=later.config | {"prompt": "q" * 64})
    later.grades.create(answer=RagAnswer.objects.first(), state="graded", value=1)
    newest = next(each for each in cards_of(sheets.benchmark) if "two" in each.name)
    assert newest.measures[0].kappa(held_out=True).n_items == 0


LONG = [80, 60, 40, 20, 60, 40, 0, 0]


def make_essays(points: list[int], *, silent: int = 0) -> Sheets:
    """One system's long answers, which a teacher gave points; the last so many say nothing."""
    sheets = Sheets(len(points), harness="long")
    source = sheets.source("run", "bm25", [None] * len(points))
    RagAnswer.objects.bulk_create(
        RagAnswer(
            run=sheets.run, source=source, query=query, state="answered", answers=[f"So {n}."],
            is_informed=n < len(points) - silent,
        )
        for n, query in enumerate(sheets.queries)
    )  # fmt: skip
    grading = sheets.graded("teacher", {source: points})
    for answer, value in zip(RagAnswer.objects.order_by("pk"), points, strict=True):
        grading.grades.create(answer=answer, state="graded", value=value, said="Surely.")
    sheets.expert = make_member(sheets.benchmark, "expert", "annotator")
    return sheets


@pytest.fixture
def essays() -> Sheets:
    return make_essays(LONG, silent=2)


def give(sheets: Sheets, place: int, points: float) -> None:
    access = enter(sheets.expert, sheets.benchmark.slug)
    answer = GradedAnswer.objects.get(query=sheets.queries[place])
    grade_answer(answer=answer, access=access, scores={"covered": points})


def test_an_expert_gives_a_long_answer_points_beside_the_reference_alone(essays) -> None:
    admin, expert = signed_in(essays.admin), signed_in(essays.expert)
    slug = essays.benchmark.slug
    url = f"/b/{slug}/rag/{essays.run.pk}/"
    assert "how much of the reference it covers" in admin.get(url).content.decode()
    page = admin.post(f"{url}people/", {"size": 3, "people": 1, "seed": 1}, follow=True)
    assert "0 of 3 answers" in page.content.decode()
    page = expert.get(f"/b/{slug}/answers/grade/").content.decode()
    assert "How much of the reference does it cover?" in page
    for hidden in ("Surely.", "bm25", "teacher", "Overall quality", "True answers"):
        assert hidden not in page
    api = f"/api/b/{slug}/answers-to-grade/"
    shown = expert.get(f"{api}next/").json()
    assert (shown["truths"], shown["scale"], shown["covered"]) == (["so"], "covered", None)
    found = GradedAnswer.objects.get(pk=shown["answer"])
    unsaid = expert.post(f"/b/{slug}/answers/grade/", {"answer": found.pk, "covered": "75"})
    assert "0, 10, 20 and so on" in unsaid.content.decode()
    expert.post(f"/b/{slug}/answers/grade/", {"answer": found.pk, "covered": "70"})
    given = AnswerGrade.objects.get()
    assert (given.scores, given.quality) == ({"covered": 70.0}, None)

    def send(path: str, **body):
        return expert.post(f"{api}{found.pk}/{path}/", body, content_type="application/json")

    assert send("covered", covered=75, reason="Less.").json()["field"] == "scores"
    assert send("right", right=True, reason="No.").json()["field"] == "scores"
    assert send("covered", covered=100, reason="More.").status_code == 204
    assert expert.get(f"{api}{found.pk}/").json()["covered"] == 100
    (row,) = admin.get(f"/api{url.replace('/rag/', '/rag-runs/')}samples/").json()["results"]
    assert (row["drawn"], row["judged"], row["given"]) == (3, 1, 1)
    admin.post(f"/b/{slug}/rag/samples/{row['id']}/close/")
    assert to_grade(enter(essays.expert, slug)).count() == 0


def test_a_teachers_mean_is_corrected_by_people(essays) -> None:
    drawn(essays, size=100)
    assert GradedAnswer.objects.count() == 6  # what says nothing is 0 by rule
    for place, points in enumerate((60, 40, 20, 0, 40, 20)):
        give(essays, place, points)
    tables = {each.name: each for each in boards.shown(essays.run).tables}
    found = cells(tables["corrected"], "bm25")
    # People give 20 less throughout: of all six 180 / 6 = 30, of the eight 6/8 * 30 = 22.5, where
    # the teacher says 300 / 8 = 37.5.
    assert (found["answers"], found["mean of graders"]) == (8, 37.5)
    assert (found["judged by people"], found["people give"]) == (6, 30)
    assert found["correlation with people"] == pytest.approx(1)
    assert found["corrected"] == pytest.approx(22.5)
    # Strings are no points: nobody was asked about them.
    by_string = boards.shown(essays.run, "accuracy").tables
    assert "corrected" not in {each.name for each in by_string}
    (card,) = cards_of(essays.benchmark)
    (measure,) = card.measures
    # Quadratic: 1 - the mean of (a - b)^2, 20^2 throughout, over its mean of all pairs.
    spread = sum((one - two) ** 2 for one in LONG[:6] for two in (60, 40, 20, 0, 40, 20)) / 36
    assert measure.kappa(held_out=False).value == pytest.approx(1 - 400 / spread)
    assert measure.name == "0 to 100"


def test_points_are_corrected_by_strata_of_which_people_judged_enough() -> None:
    points = [20] * 10 + [50] * 14 + [80] * 12
    sheets = make_essays(points)
    drawn(sheets, size=100)
    # People judge ten of each: 0 and 20 by turns, 60, and 40. That is no line.
    for first, low, high in ((0, 0, 20), (10, 60, 60), (24, 40, 40)):
        for place in range(first, first + 10):
            give(sheets, place, high if place % 2 else low)
    (table,) = [each for each in boards.shown(sheets.run).tables if each.name == "corrected"]
    found = cells(table, "bm25")
    assert (found["judged by people"], found["people give"]) == (30, pytest.approx(110 / 3))
    # Along a line it would be 110 / 3 + .5 (51.67 - 50) = 37.5.
    assert found["corrected"] == pytest.approx((10 * 10 + 14 * 60 + 12 * 40) / 36)


def test_short_and_long_answers_of_one_text_are_judged_apart(essays) -> None:
    drawn(essays, size=100)
    give(essays, 0, 60)
    assert people.said_by_people(essays.benchmark, "short") == {}
    (said,) = people.said_by_people(essays.benchmark, "cited").values()
    assert list(said.values()) == [60]


def test_points_that_are_all_nothing_have_an_interval_on_their_scale(essays) -> None:
    drawn(essays, size=3)
    access = enter(essays.expert, essays.benchmark.slug)
    for answer in GradedAnswer.objects.all():
        grade_answer(answer=answer, access=access, scores={"covered": 0})
    tables = {each.name: each for each in boards.shown(essays.run).tables}
    (row,) = (each for each in tables["corrected"].rows if each[0].value == "bm25")
    corrected = row[-1]
    # Three of three that are nothing leave room for a share of all points, not of a single one.
    assert corrected.value == pytest.approx(0)
    assert corrected.high > 5
