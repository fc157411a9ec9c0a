"""Judges of citations and graders of answers: cards, families, files of TREC AutoJudge."""

import json
from datetime import timedelta
from hashlib import md5
from typing import Any

import pytest
from django.utils import timezone

from annotate.models import SentenceGrade, SentenceItem
from corpus.models import Judgment
from evaluation.judges.card import Card, table_of
from evaluation.judges.cards import cards_of
from evaluation.judges.exchange import compared_file, written
from evaluation.judges.orders import orders_of, scores_of
from evaluation.judges.related import by_others, judged_twice
from evaluation.rag.board import graders_table
from evaluation.rag.grading import NO_ORDER, start_grading
from evaluation.rag.models import GradeRun, RagAnswer, RagRun
from evaluation.rag.people import said_by_people
from evaluation.rag.reading import board_of
from evaluation.releases.findings import family_fault
from evaluation.support import report
from evaluation.support.models import SupportRun
from evaluation.support.protocol.judging import Exam, Judge, judge_request
from evaluation.support.reading import read
from evaluation.support.services import unsaved_set
from evaluation.tasks import GRADES
from kit.errors import Refused
from llm import endpoints
from tests.annotate.grading.test_sentences import judge as judged_by
from tests.annotate.world import signed_in
from tests.debate.answering import answering
from tests.evaluation.rag.boards import CONFIG, Sheets
from tests.evaluation.rag.room import Place, make_place
from tests.evaluation.rag.test_people import drawn, judge
from tests.evaluation.support.test_support_runs import judged
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place() -> Place:
    return make_place()


def cells(card: Card) -> dict[str, tuple[Any, Any]]:
    return {row[0].value: (row[1].value, row[2].value) for row in table_of(card).rows}


def heard(place: Place, run: SupportRun, *said: int) -> None:
    """One person's own verdicts on the citations of a set, in their order."""
    room = place.room
    access = room.access(room.admin)
    report.draw(access=access, of=run.support_set, size=4, seed=1, people=1, post_edit=0)
    claims = list(run.verdicts.order_by("claim").values_list("claim", flat=True))
    for item in SentenceItem.objects.all():
        at = claims.index(int(item.origin.rpartition(":")[2]))
        judged_by(room, room.colleague, said[at], item)


@pytest.mark.slow
def test_a_judge_of_citations_has_a_card_with_people_length_order_and_repetition(place) -> None:
    run = judged(unsaved_set(place.room.benchmark, "references"))
    of = run.support_set
    heard(place, run, 2, 1, 2, 0)
    # As if experts had collected the gold after the prompt was first used: else it was seen.
    Judgment.objects.update(created_at=timezone.now())
    (card,) = cards_of(place.room.benchmark)
    # The judge says 2, 2, 2, 0. Squares apart: 1 of 4. By chance 3 (0 + 0 + 1 + 4) and
    # 4 + 4 + 1 + 0 of 16, that is 24 / 16: 1 - (1 / 4) / (3 / 2) = 5 / 6.
    assert cells(card)["κ, support, held out"] == (pytest.approx(5 / 6), 4)
    assert cells(card)["κ, support, all items"] == (pytest.approx(5 / 6), 4)
    assert cells(card)["length bias, support"][1] == 4
    assert (card.swap.n, card.again.n) == (0, 0)
    assert cells(card)["dollars a verdict"] == (0.0, 4)

    # Asked again it is the same judge, and each citation counts once.
    again = judged(of, replicate=1)
    turned = judged(of, swapped=True)
    turned.verdicts.filter(claim=again.verdicts.order_by("claim").first().claim_id).update(value=1)
    again.verdicts.update(value=0)
    (card,) = cards_of(place.room.benchmark)
    assert cells(card)["κ, support, all items"][1] == 4
    assert (card.again.hits, card.again.n) == (3, 4)
    assert (card.swap.hits, card.swap.n) == (1, 4)
    # What was seen in another order is no verdict of the set.
    assert list(read(of).said) == [run.judge]
    assert "passage first" in turned.judge

    # Whoever saw the machines first is nobody to be compared with.
    SentenceGrade.objects.filter(pk=SentenceGrade.objects.first().pk).update(first=None)
    assert cells(cards_of(place.room.benchmark)[0])["κ, support, all items"][1] == 3
    # People who judged before the prompt was first used make its author one who saw the query.
    SentenceGrade.objects.update(created_at=timezone.now() - timedelta(days=400))
    (card,) = cards_of(place.room.benchmark)
    assert cells(card)["κ, support, held out"] == (None, 0)
    assert cells(card)["κ, support, all items"][1] == 3

    lines = list(written(place.room.benchmark, "leaderboard", judge=run.judge, shape="jsonl"))
    assert {json.loads(line)["measure"] for line in lines} == {"precision"}


def test_the_passage_is_shown_before_the_sentence_where_it_is_asked_for() -> None:
    exam = Exam("Why?", "So.", "Moths roll.", "A passage.")
    texts = [
        judge_request(exam, Judge("e", "m", swapped=swapped), b"k").messages[-1]["content"]
        for swapped in (False, True)
    ]
    blocks = [[line for line in each.split("\n") if line.isupper()] for each in texts]
    assert blocks[0] == ["QUESTION", "TEXT BEFORE THE STATEMENT", "STATEMENT", "PASSAGE"]
    assert blocks[1] == ["QUESTION", "PASSAGE", "TEXT BEFORE THE STATEMENT", "STATEMENT"]
    assert sorted(texts[0]) == sorted(texts[1])


@pytest.mark.slow
def test_true_answers_the_other_way_round_are_for_the_card_alone(place, settings) -> None:
    run = place.run(runs=[place.good], baselines=False)
    with answering(settings, "True", "True", "False") as stub:
        endpoint = endpoints.for_role("grader")
        for swapped in (False, True):
            found = start_grading(
                rag_run=run, endpoint=endpoint, actor=None, claimed=True, swapped=swapped
            )
            GRADES.drive(found)
        # One query has two true answers; what is asked in the same words is paid once.
        assert len(stub.asked) == 3
        shown = [each["messages"][-1]["content"] for each in stub.asked]
        assert sum("(1) light" in each for each in shown) == 1
    (card,) = cards_of(run.benchmark)
    assert (card.swap.hits, card.swap.n) == (1, 1)
    assert len(board_of(run).graders) == 1
    place.room.query.answers = ["light"]
    place.room.query.save()
    with pytest.raises(Refused, match=NO_ORDER):
        start_grading(rag_run=run, endpoint=endpoint, actor=None, swapped=True)


# Families.


def families() -> Sheets:
    """Of three systems one answers by qwen; qwen and gpt grade all."""
    sheets = Sheets(2)
    RagRun.objects.update(model="qwen3-32b")
    a = sheets.source("run", "a", [1, 1])
    sheets.graded("qwen3-max", {a: [1, 1]})
    sheets.graded("gpt-5", {a: [0, 0]})
    sheets.run = RagRun.objects.create(
        benchmark=sheets.benchmark, name="others", harness="short", config=CONFIG, endpoint="e",
        model="llama-3", status="done",
    )  # fmt: skip
    b, c = (sheets.source("run", name, [1, 1]) for name in "bc")
    sheets.graded("qwen3-max", {b: [1, 0], c: [0, 0]})
    sheets.graded("gpt-5", {b: [1, 1], c: [0, 1]})
    return sheets


def test_answers_are_ranked_with_and_without_graders_of_a_family_that_answers() -> None:
    sheets = families()
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    # All: a (1 + 0) / 2, b (.5 + 1) / 2, c (0 + .5) / 2; gpt alone: 0, 1, .5. Of the three pairs
    # that of a and c is turned round: (2 - 1) / 3.
    assert found.before == {"llama-3, b": 0.75, "llama-3, c": 0.25, "qwen3-32b, a": 0.5}
    assert found.tau == pytest.approx(1 / 3)
    table = by_others([found])
    ranks = {row[2].value: (row[3].value, row[6].value, row[7].value) for row in table.rows}
    assert ranks == {
        "llama-3, b": ("", 1, 1), "qwen3-32b, a": ("yes", 2, 3), "llama-3, c": ("", 3, 2)
    }  # fmt: skip
    (fault,) = family_fault(sheets.benchmark)
    assert fault.rows[0]["name"] == (
        "qwen: answers qwen3-32b; judges answers qwen3-max; Kendall's tau of answers, short, "
        "10 passages with and without it 0.333"
    )
    admin = signed_in(sheets.admin)
    page = admin.get(f"/b/{sheets.benchmark.slug}/judges/").content.decode()
    assert "2 judges, 1 of other families" in page
    # Where every judge is of the family there is no order without it; practice has no say.
    GradeRun.objects.filter(model="gpt-5").update(practice=True)
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    assert (found.after, found.tau, found.others) == ({}, None, 0)
    GradeRun.objects.update(practice=True)
    assert judged_twice(sheets.benchmark, orders_of(sheets.benchmark)) == []


def test_a_model_is_one_judge_however_its_replies_are_read() -> None:
    sheets = families()
    (once,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    # The same replies read as the papers do, which says more is right: the strict reading speaks.
    for grading in list(GradeRun.objects.filter(model="gpt-5").order_by("pk")):
        sheets.run = grading.rag_run
        every = {source: [1, 1] for source in grading.rag_run.sources.all()}
        lax = sheets.graded("gpt-5", every, profile="reference")
    assert len(orders_of(sheets.benchmark)["answers, short, 10 passages"]) == 3
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    assert (found.before, found.after, found.by, found.others) == (
        once.before, once.after, once.by, once.others
    )  # fmt: skip
    # Of two voices of a model, such as two temperatures, it is the mean: gpt's b (1 + 1) / 2, c
    # (.5 + 1) / 2, and with qwen's .5 and 0 half of each sum.
    lax.config |= {"profile": "strict", "temperature": 1.0}
    lax.save()
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    assert found.by == 2
    assert found.after == {"llama-3, b": 1.0, "llama-3, c": 0.75, "qwen3-32b, a": 0.0}
    assert found.before["llama-3, c"] == 0.375


def test_systems_that_not_every_judge_ranked_are_counted_and_named() -> None:
    sheets = families()
    sheets.run = RagRun.objects.create(
        benchmark=sheets.benchmark, name="third", harness="short", config=CONFIG, endpoint="e",
        model="mistral-1", status="done",
    )  # fmt: skip
    sheets.graded("qwen3-max", {sheets.source("run", "d", [1, 1]): [1, 1]})
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    assert found.dropped == ["mistral-1, d"]
    assert found.before.keys() == {"llama-3, b", "llama-3, c", "qwen3-32b, a"}
    note = by_others([found]).notes[1]
    assert note.endswith("Not every judge ranked the same systems; 1 left out: mistral-1, d.")
    (fault,) = family_fault(sheets.benchmark)
    assert fault.rows[0]["name"].endswith("with and without it 0.333 (1 systems left out)")
    # Where judges have no two systems in common there is no order, and that is said, too.
    GradeRun.objects.filter(model="gpt-5", rag_run__name="others").delete()
    (found,) = judged_twice(sheets.benchmark, orders_of(sheets.benchmark))
    assert (found.tau, len(found.before), len(found.dropped)) == (None, 1, 3)


# Files.


@pytest.fixture
def sheets() -> Sheets:
    """One system answers four queries; a grader calls the first two right."""
    sheets = Sheets(4)
    source = sheets.source("run", "bm25", [1, 1, 0, 0])
    grading = sheets.graded("one", {source: [1, 1, 0, 0]})
    for n, query in enumerate(sheets.queries):
        answer = RagAnswer.objects.create(
            run=sheets.run, source=source, query=query, state="answered", answers=[f"So {n}."],
            is_informed=True,
        )  # fmt: skip
        grading.grades.create(answer=answer, state="graded", value=float(n < 2))
    sheets.expert = make_member(sheets.benchmark, "expert", "annotator")
    return sheets


def test_grades_go_out_as_a_leaderboard_and_qrels_and_come_in_beside_people(sheets) -> None:
    grader = GradeRun.objects.get().grader
    assert list(scores_of(sheets.benchmark)) == [grader]
    lines = list(written(sheets.benchmark, "leaderboard", judge=grader))
    assert lines[0] == "m,_bm25\tq0\tcorrect\t1.0"
    assert lines[-1] == "m,_bm25\tall\tcorrect\t0.5"
    lines = list(written(sheets.benchmark, "qrels", judge=grader))
    assert f"q1 0 {md5(b'So 1.').hexdigest()} 1" in lines
    assert len(lines) == 4
    drawn(sheets)
    for at, right in enumerate((1.0, 0.0, 0.0, 0.0)):
        judge(sheets, at, right)
    assert len(said_by_people(sheets.benchmark, "short")) == 4
    table = compared_file(sheets.benchmark, "qrels", lines)
    rows = {row[0].value: [cell.value for cell in row[1:5]] for row in table.rows}
    # Three of four are the same; by chance 2/4 1/4 + 2/4 3/4 = 1/2: (3/4 - 1/2) / (1/2) = 1/2.
    assert rows["answers, right or wrong, people"] == [4, 4, pytest.approx(0.5), 0.75]
    assert rows[f"answers, right or wrong, {grader}"] == [4, 4, 1.0, 1.0]
    assert rows["relevant or not, people"][:2] == [4, 0]
    with pytest.raises(Refused, match="No such grader"):
        written(sheets.benchmark, "qrels", judge="nobody")


def test_one_text_of_several_systems_is_one_item_of_a_grader(sheets) -> None:
    drawn(sheets)
    for at, right in enumerate((1.0, 0.0, 0.0, 0.0)):
        judge(sheets, at, right)
    RagAnswer.objects.update(accuracy=1)
    first = list(RagAnswer.objects.order_by("pk"))
    source = sheets.source("run", "dense", [1, 1, 0, 0])
    grading = GradeRun.objects.get()
    grading.sheet |= {str(source.pk): [1, 1, 0, 0]}
    grading.save()
    for n, answer in enumerate(first):
        answer.pk, answer.source = None, source
        if n == 3:
            answer.answers = ["Something else."]
        answer.save()
        grading.grades.create(answer=answer, state="graded", value=float(n < 2))
    two = sheets.graded("two", {each: [1, 0, 0, 0] for each in sheets.run.sources.all()})
    (card,) = (each for each in cards_of(sheets.benchmark) if each.name == grading.grader)
    people, strings = card.measures
    # As many as people judged, and five texts: the last query has two.
    assert (people.kappa(held_out=False).n_items, len(people.seen)) == (4, 4)
    assert people.kappa(held_out=False).value == pytest.approx(0.5)
    assert len(strings.seen) == 5
    found = {row[0].value: row for row in graders_table(board_of(two.rag_run)).rows}
    agreed = found["percent agreement"]
    # 1 0 0 0 0 beside 1 1 0 0 0: four of five, not six of eight.
    assert (agreed[1].value, agreed[2].value) == (pytest.approx(0.8), 5)


def test_what_a_grader_holds_answers_against_is_a_bank_of_nuggets(sheets) -> None:
    admin, grader = signed_in(sheets.admin), GradeRun.objects.get().grader
    base = f"/api/b/{sheets.benchmark.slug}/judges/"
    page = admin.get(f"/b/{sheets.benchmark.slug}/judges/").content.decode()
    assert page.count("Nugget bank") == 3  # the form, that of aspects, and the grader's own
    text = admin.get(f"{base}files/nuggets/", {"judge": grader}).content.decode()
    bank = json.loads(text.splitlines()[0])
    assert bank["query_id"] == "q0"
    assert bank["nugget_bank"]["Why 0?"]["answers"] == {"so": {"answer": "so"}}
    text = text.replace('"answer": "so"', '"answer": "Never."', 1)
    (table,) = admin.post(
        f"{base}compare/", {"kind": "nuggets", "text": text}, "application/json"
    ).json()
    shares = [row[5]["value"] for row in table["rows"]]
    assert shares == [0.0, 1.0, 1.0, 1.0]
