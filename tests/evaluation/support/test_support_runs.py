"""Citations judged to their end, by the practice model or somebody's endpoint over real HTTP."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.models import GradingSample, SentenceGrade, SentenceItem
from corpus.models import Passage
from evaluation.rag.models import RagAnswer
from evaluation.support import report, services
from evaluation.support.models import Claim, SupportRun, SupportSet, SupportState
from evaluation.support.reading import TOGETHER, Found, read
from evaluation.support.services import forecast, retry_failed, start_support, unsaved_set
from evaluation.support.splitting import Written, split, splits
from evaluation.tasks import SUPPORT
from kit.errors import Refused
from llm import endpoints
from llm.models import Call
from tests.annotate.answering import GOOD
from tests.annotate.grading.test_sentences import judge as judged_by
from tests.debate.answering import answering
from tests.evaluation.rag.room import Place, make_place
from tests.evaluation.rag.test_people import told_by_command
from tests.llm.stub import status
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
FULL = json.dumps({"reason": "So.", "verdict": "full", "span": "Moths roll their"})
NONE = json.dumps({"reason": "No.", "verdict": "none", "span": ""})


@pytest.fixture
def place() -> Place:
    return make_place()


def judged(of: SupportSet, **options: Any) -> SupportRun:
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        run = start_support(of=of, endpoint=endpoint, actor=None, claimed=True, **options)
        SUPPORT.drive(run)
    run.refresh_from_db()
    return run


def row_of(of: SupportSet, name: str = "support", at: int = 0) -> dict[str, Any]:
    (sheet,) = [each for each in report.tables(read(of)) if each.name == name]
    return {head: cell.value for head, cell in zip(sheet.header, sheet.rows[at], strict=True)}


def test_a_reference_answer_is_judged_sentence_by_sentence(place) -> None:
    run = judged(unsaved_set(place.room.benchmark, "references"))
    assert (run.status, run.error, run.done, run.total) == ("done", "", 4, 4)
    of = run.support_set
    answer = of.answers.get()
    assert [cited for _, cited in answer.sentences] == [
        ["lamps/page_1.txt"], ["lamps/page_2.txt"], ["lamps/page_3.txt", "lamps/page_4.txt"]
    ]  # fmt: skip
    assert answer.sentences[0][0] == "Insects roll their backs towards the light and fly in loops."
    values = list(run.verdicts.order_by("claim").values_list("value", flat=True))
    # Words of the sentence in the passage: 9 of 10, all, 6 of 7, 1 of 7 (docs/protocol.md 8).
    assert values == [2, 2, 2, 0]
    for verdict in run.verdicts.select_related("claim__passage"):
        assert bool(verdict.words) == (verdict.value != 0)
        assert verdict.words in (verdict.claim.passage.text or "")
    row = row_of(of)
    assert (row["sentences"], row["cite nothing"], row["citations"]) == (3, 0, 4)
    # (1 + 1 + 1 + 0) / 4 citations; 3 of 3 sentences by their best one.
    assert (row["precision"], row["recall"], row["hard recall"]) == (0.75, 1.0, 1.0)


@pytest.mark.slow
def test_a_second_judge_judges_the_same_and_both_stand_together(place) -> None:
    one = judged(unsaved_set(place.room.benchmark, "references"))
    of = SupportSet.objects.get()
    Claim.objects.filter(pk=one.verdicts.order_by("claim").last().claim_id)
    other = judged(of, temperature=1.0)
    assert (SupportSet.objects.count(), other.done) == (1, 4)
    other.verdicts.order_by("claim").update(value=1)
    found = read(of)
    # Of each claim the mean of both: (1 + .5) / 2 three times, and (0 + .5) / 2.
    assert sorted(found.weights(TOGETHER).values()) == [0.25, 0.75, 0.75, 0.75]
    assert row_of(of, at=2)["judge"] == "together"
    assert row_of(of, at=2)["hard precision"] == 0.0
    assert row_of(of, "agreement")["same verdict"] == 0.0
    # The same judge once more takes the place of the first, and is not paid again.
    paid = Call.objects.count()
    judged(of)
    assert len(read(of).judges) == 2
    assert Call.objects.count() == paid


@pytest.mark.slow
def test_rag_answers_cite_by_number_and_a_number_too_high_supports_nothing(place) -> None:
    run = place.run(harness="long", runs=[place.good], baselines=False)
    text = "Moths roll their backs towards the light [1]. Sky is bright [2, 1]. Nothing [7]. None."
    RagAnswer.objects.filter(run=run, query=place.room.query).update(answers=[text])
    RagAnswer.objects.filter(run=run, query=place.room.other).update(is_informed=False)
    found = judged(unsaved_set(place.room.benchmark, f"rag:{run.pk}"))
    of = found.support_set
    assert [cited for _, cited in of.answers.get().sentences] == [
        ["lamps/page_1.txt"], ["lamps/page_2.txt", "lamps/page_1.txt"], ["7"], []
    ]  # fmt: skip
    row = row_of(of)
    assert (row["system"], row["unknown"], row["cite nothing"], found.total) == ("good", 1, 1, 3)
    judged(of, temperature=0.5)
    first = unsaved_set(place.room.benchmark, f"rag:{run.pk}", 1)
    assert judged(first).total == 2


def test_answers_that_cite_are_asked_for_and_what_they_cite_is_what_they_were_given(place) -> None:
    run = place.run(harness="cited", runs=[place.good], baselines=False)
    assert (run.status, run.calls.values_list("role", flat=True)[0]) == ("done", "rag_cited")
    found = judged(unsaved_set(place.room.benchmark, f"rag:{run.pk}"))
    given = {pid for each in run.answers.all() for pid in each.passages}
    assert found.total > 0
    assert {claim.pid for claim in Claim.objects.all()} <= given
    # The practice model quotes its passages, so that each supports what it says.
    assert row_of(found.support_set)["hard precision"] == 1.0


def test_brackets_that_cite_nothing_stay_and_ids_with_commas_are_two() -> None:
    known = {"a/b 1.txt": 1, "c/d_2.txt": 2}
    written = Written(None, "s", "o", "See [sic] [a/b 1.txt, c/d_2.txt]. [e/f.txt] So.", None)
    assert split(written, known) == (
        ("See [sic].", ("a/b 1.txt", "c/d_2.txt", "e/f.txt")), ("So.", ())
    )  # fmt: skip


def test_passages_without_a_text_are_not_judged(place) -> None:
    Passage.objects.filter(pid="lamps/page_4.txt").update(text=None)
    run = judged(unsaved_set(place.room.benchmark, "references"))
    row = row_of(run.support_set)
    assert (run.total, row["not judged"], row["precision"]) == (3, 1, 1.0)


@pytest.mark.few
@pytest.mark.parametrize(
    ("script", "first", "then", "asked"),
    [
        # What could not be read is asked anew: the ledger would tell the same for ever.
        (["Hm.", "Hm.", NONE], ("unreadable", None), ("judged", 0), 3),
        ([FULL.replace("roll", "turn"), FULL], ("judged", 2), None, 2),
        ([status(400), NONE], ("failed", None), ("judged", 0), 2),
    ],
)
def test_what_cannot_be_read_is_no_verdict_and_nothing_is_paid_twice(
    place, settings, script, first, then, asked
) -> None:
    of = unsaved_set(place.room.benchmark, "references")
    place.room.write("Moths roll [lamps/page_1.txt].", expected=1)
    with answering(settings, *script) as stub:
        run = start_support(of=of, endpoint=endpoints.for_role("grader"), actor=None, claimed=True)
        SUPPORT.drive(run)
        run.refresh_from_db()
        row = run.verdicts.get()
        assert (row.state, row.value) == first
        if then:
            retry_failed(run=run, actor=None)
            run.refresh_from_db()
            assert run.claim()
            SUPPORT.drive(run)
            row.refresh_from_db()
            assert (row.state, row.value) == then
        else:
            with pytest.raises(Refused, match="No verdict of this run has failed"):
                retry_failed(run=run, actor=None)
        assert len(stub.asked) == asked


def test_a_judging_that_is_killed_goes_on_and_asks_nothing_twice(place, settings) -> None:
    of = unsaved_set(place.room.benchmark, "references")
    with answering(settings, *[NONE] * 4) as stub:
        run = start_support(of=of, endpoint=endpoints.for_role("grader"), actor=None, claimed=True)
        SUPPORT.drive(run)
        # As if the worker had died after the calls, while answers were still being split.
        run.verdicts.update(state=SupportState.WAITING, value=None, said="", call=None)
        SupportSet.objects.update(is_split=False)
        SupportRun.objects.update(status="running", done=0, lease_until="2020-01-01T00:00Z")
        run.groups.update(status="running", done=0, lease_until="2020-01-01T00:00Z")
        SUPPORT.take_part(run.pk)
        run.refresh_from_db()
        assert (run.status, run.done, len(stub.asked)) == ("done", 4, 4)
    assert (Claim.objects.count(), SupportSet.objects.get().is_split) == (4, True)


def test_a_lease_outlives_a_look_past_answers_that_were_split_already(place, monkeypatch) -> None:
    def slow(*given: Any) -> Any:
        long_ago = timezone.now() - timedelta(hours=1)
        run = SupportRun.objects.filter(status="running")
        assert run.update(lease_until=long_ago)
        wait_until(lambda: run.filter(lease_until__gt=timezone.now()).exists())
        return splits(*given)

    monkeypatch.setattr(services, "splits", slow)
    of = unsaved_set(place.room.benchmark, "references")
    of.save()  # as if another judge had begun with them
    assert judged(of).status == "done"


def test_what_cannot_be_is_refused(place) -> None:
    benchmark = place.room.benchmark
    for source in ("agent:1", "rag:x", "all", "rag:99999999999999999999"):
        with pytest.raises(Refused, match="Choose a run"):
            unsaved_set(benchmark, source)
    with pytest.raises(Refused) as refusal:
        unsaved_set(benchmark, "references", 0)
    assert refusal.value.field == "per_sentence"
    of = unsaved_set(benchmark, "references")
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        for options, field in (
            ({"temperature": 3.0}, "temperature"),
            ({"reasoning_effort": "x"}, "reasoning_effort"),
        ):
            with pytest.raises(Refused) as refusal:
                start_support(of=of, endpoint=endpoint, actor=None, **options)
            assert refusal.value.field == field
        start_support(of=of, endpoint=endpoint, actor=None)
        with pytest.raises(Refused, match="has not begun yet"):
            start_support(of=of, endpoint=endpoint, actor=None)


def test_a_forecast_counts_citations_before_and_after_they_are_split(place) -> None:
    of = unsaved_set(place.room.benchmark, "references")
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        before = forecast(of, endpoint)
        run = judged(of)
        after = forecast(run.support_set, endpoint)
    assert before["calls"] == after["calls"] == 4
    assert before["input_tokens"] == after["input_tokens"] > 4 * 300


@pytest.mark.slow
def test_people_beside_two_judges_and_what_seeing_them_first_does(place) -> None:
    room = place.room
    place.room.generate(GOOD, place.room.other)
    run = judged(unsaved_set(room.benchmark, "references"))
    of = run.support_set
    judged(of, temperature=1.0)
    told = told_by_command(
        room.benchmark.slug, "--draw", "--citations", str(of.pk), "--size", "4", "--post-edit",
        "50", "--as", room.admin.username,
    )  # fmt: skip
    assert [(each["of"], each["drawn"]) for each in told] == [("sentences", 4)]
    sample = GradingSample.objects.get()
    items = {each.pk: each for each in SentenceItem.objects.all()}
    assert all(len(each.machines) == 2 and each.is_reference for each in items.values())
    people = (room.colleague, room.both)
    for item in items.values():
        # Whoever sees the machine first says the same; alone both say "partly".
        said = item.machines[0]["verdict"] if item.is_post_edit else 1
        for person in people:
            judged_by(room, person, said, item)
            if not item.is_post_edit:
                judged_by(room, person, said, item)
    alone = [each for each in items.values() if not each.is_post_edit]
    row = row_of(of, "anchoring")
    assert (row["own first"], row["machines first"]) == (4, 4)
    agreed = sum(each.machines[0]["verdict"] == 1 for each in alone) / 2
    assert (row["agree"], row["agree beside"], row["effect"]) == (agreed, 1.0, 1.0 - agreed)
    assert row["came over when shown"] == 0.0
    (sheet,) = [each for each in report.tables(read(of)) if each.name == "agreement"]
    assert [row[0].value.endswith("people") for row in sheet.rows][1:3] == [True, True]
    assert "People judged 2 citations" in " ".join(sheet.notes)
    assert "the mean weight is 0.500" in " ".join(sheet.notes)
    row = row_of(of, "corrected")
    # People say "partly" of both that they judged alone, whatever the judge says.
    assert (row["citations"], row["judged by people"], row["people say"]) == (4, 2, 0.5)
    assert row["corrected"] == pytest.approx(0.5)
    (told,) = report.samples(of)
    assert (told.pk, told.drawn, told.judged, told.given) == (sample.pk, 4, 4, 8)


def test_precision_is_corrected_by_strata_of_what_the_judge_says() -> None:
    claims = {n: (1, n) for n in range(40)}
    said = dict.fromkeys(range(20), 2) | dict.fromkeys(range(20, 38), 0)
    # Of ten that are fully supported people find two partly so, and of ten that are not two; of one
    # more they say full and none, which is half.
    people = [2] * 8 + [1, 1], [0] * 8 + [1, 1]
    # Once they saw the machine all came over to it: that counts for nothing.
    given = [(first + n, SentenceGrade(first=verdict, verdict=said[first + n]))
             for first, side in zip((0, 20), people, strict=True)
             for n, verdict in enumerate(side)]  # fmt: skip
    given += [(12, SentenceGrade(first=2, verdict=2)), (12, SentenceGrade(first=0, verdict=0))]
    found = Found(
        SupportSet(name="answers"),
        [(1, "answers, good", 1, 40)],
        claims,
        frozenset({38, 39}),
        frozenset(),
        {},
        {"judge": said},
        given,
    )
    sheet = report.corrected(found)
    weighted, full = (dict(zip(sheet.header, row, strict=True)) for row in sheet.rows)
    assert [weighted[name].value for name in ("system", "citations", "judge says")] == [
        *("good", 40, 0.5)
    ]
    # 20 of 40 weigh (8 + 2 * .5 + .5) / 11, 18 weigh .1, two are of no passage here.
    assert weighted["judged by people"].value == 21
    assert weighted["corrected"].value == pytest.approx((20 * 9.5 / 11 + 18 * 0.1) / 40)
    assert full["corrected"].value == pytest.approx(20 * 8.5 / 11 / 40)
    assert full["corrected"].low < 0.4 < full["corrected"].high < 0.55


def test_a_set_that_one_judge_read_says_that_a_second_is_missing(place) -> None:
    of = judged(unsaved_set(place.room.benchmark, "references")).support_set
    (sheet,) = [each for each in report.tables(read(of)) if each.name == "support"]
    assert "A second judge is missing" in " ".join(sheet.notes)
    judged(of, temperature=1.0)
    (sheet,) = [each for each in report.tables(read(of)) if each.name == "support"]
    assert "A second judge is missing" not in " ".join(sheet.notes)
