"""Making training data as long work: what is stored, leaks, kills, pauses, money, people."""

import json
from collections import Counter
from decimal import Decimal

import pytest

from annotate.models import CaseKind, EscalationCase, ReferenceAnswer
from annotate.voting.cases import open_case
from annotate.voting.services import cast_vote
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Passage, RankedList, Source
from evaluation.models import TrainingDocument, TrainingRun
from evaluation.tasks import TRAINING
from evaluation.training.services import ask_people, close, people_said, retry_failed
from kit.errors import Refused
from kit.models import Event
from kit.runs.moves import cancel_run, pause_run, resume_run
from llm import endpoints
from llm.models import Call
from tests.annotate.world import make_snapshot
from tests.corpus.reranking.room import TEXTS, Room, make_room
from tests.debate.runs.test_screens import make_debate, make_run
from tests.evaluation.training.room import (
    ASIDE,
    PAGE,
    driven,
    page_of,
    passage,
    start,
    writing,
)
from tests.factories import make_member, make_passage, make_query
from tests.killing import live_until_killed
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


def documents(run: TrainingRun, query: object) -> list[tuple[str, str, str]]:
    rows = run.documents.filter(item__query=query).order_by("pk")
    return [(each.kind, each.use, each.passage.pid if each.passage else "") for each in rows]


def test_pairs_are_graded_and_documents_written_and_nothing_becomes_a_label(room, settings) -> None:
    labels, passages = Judgment.objects.count(), Passage.objects.count()
    with writing(settings):
        run = driven(start(room, negatives=2))
    assert (run.status, run.error, run.done) == ("done", "", 2)
    made = documents(run, room.first)
    # 7 positive, 6 and 4 dropped, 3 negative.
    assert set(made[:4]) == {
        ("train_grade", "positive", "b1"),
        ("train_grade", "dropped", "b2"),
        ("train_grade", "dropped", "b3"),
        ("train_grade", "negative", "b4"),
    }
    assert made[4:] == [
        ("train_positive", "positive", ""),
        ("train_negative", "negative", ""),
        ("train_negative", "negative", ""),
    ]
    assert (Judgment.objects.count(), Passage.objects.count()) == (labels, passages)
    for each in run.documents:
        assert each.call is not None
        assert each.call.role == each.kind
        assert each.language == "English"
    assert run.report == {"written": 6, "compared": 6, "leaks": 0, "gold_leaks": 0}
    # Another run pays for nothing.
    with writing(settings) as stub:
        again = driven(start(room, negatives=2, name="again"))
        assert not stub.asked
    assert documents(again, room.first) == made


def test_labels_are_taken_and_their_passages_not_graded(room, settings) -> None:
    record_judgment(query=room.first, passage=passage("b2"), label=0, source=Source.EXPERT,
                    provenance={})  # fmt: skip
    # One of the practice model is none of people's.
    record_judgment(query=room.first, passage=passage("b3"), label=1, source=Source.DEBATE,
                    provenance={}, practice=True)  # fmt: skip
    with writing(settings) as stub:
        run = driven(start(room, labels=5))
        graded = [b["messages"][1]["content"] for b in stub.asked if "response_format" in b]
    assert documents(run, room.first)[:2] == [
        ("labelled", "positive", "b1"),
        ("labelled", "negative", "b2"),
    ]
    others = {each for each in documents(run, room.first) if each[0] == "train_grade"}
    assert others == {("train_grade", "dropped", "b3"), ("train_grade", "negative", "b4")}
    assert not any("Mulch keeps" in each for each in graded if "POSITIVE" not in each)
    judged = run.documents.filter(kind="labelled").order_by("pk")
    assert [(each.judgment.source, each.judgment.passage.pid) for each in judged] == [
        ("original", "b1"),
        ("expert", "b2"),
    ]


def test_written_texts_that_repeat_the_benchmark_are_rejected(room, settings) -> None:
    # A gold passage inside the written page, and an answer as the negative.
    gold = " ".join(f"Mulch number {n} holds water." for n in range(12))
    Passage.objects.filter(pid="b1").update(text=gold)
    plain = make_passage(room.benchmark, "b9", "biology", text=f"{PAGE} and more")
    room.first.gold_answer = ASIDE
    room.first.save()
    with writing(settings, positive=page_of(f"{PAGE} {gold} Remember that.")):
        run = driven(start(room, depth=0, positives=1))
    written, negative = run.documents.filter(item__query=room.first).order_by("pk")
    assert (written.use, written.leak["passage"], written.leak["is_gold"]) == (
        "rejected",
        passage("b1").pk,
        True,
    )
    assert written.fault == "Repeats passage b1 (100%)."
    assert negative.leak == {"query": room.first.pk, "is": "an answer of query biology-1",
                             "share": 1.0, "is_gold": True}  # fmt: skip
    # The other query has the same page; the aside shares no word with it and was rejected before.
    assert (run.report["leaks"], run.report["gold_leaks"], run.report["written"]) == (3, 3, 4)
    with writing(settings):
        # Another temperature, or the ledger would have the same page.
        alone = {"depth": 0, "negatives": 0, "domain": "biology", "temperature": 0}
        other = driven(start(room, **alone))
    (copy,) = other.documents.all()
    assert (copy.leak["passage"], copy.leak["is_gold"]) == (plain.pk, False)
    assert (other.report["leaks"], other.report["gold_leaks"]) == (1, 0)
    # Looking again finds the same.
    other.status = "queued"
    other.save()
    assert other.claim()
    close(other)
    other.refresh_from_db()
    assert (other.report["leaks"], other.report["compared"]) == (1, 8)


def test_written_texts_that_repeat_an_answer_chosen_here_are_rejected(room, settings) -> None:
    cited = ". ".join(f"{line} [b1]" for line in PAGE.removesuffix(".").split(". "))
    person = make_member(room.benchmark, "ada", "annotator")
    given = {"query": room.first, "author": "person", "created_by": person}
    ReferenceAnswer.objects.create(version=1, text=cited, is_chosen=True, stands=False, **given)
    ReferenceAnswer.objects.create(version=2, text=ASIDE, **given)
    with writing(settings):
        run = driven(start(room, depth=0, domain="biology"))
    written, negative = run.documents.filter(item__query=room.first).order_by("pk")
    assert (written.use, written.leak["query"], written.leak["is"]) == (
        "rejected",
        room.first.pk,
        "an answer of query biology-1",
    )
    # The later one is not published.
    assert (negative.use, negative.leak) == ("negative", {})
    assert (run.report["compared"], run.report["leaks"], run.report["gold_leaks"]) == (7, 1, 1)


def test_failed_queries_alone_are_tried_again(room, settings) -> None:
    with writing(settings, grades={}) as stub:
        stub._script = (status(400),)  # refuses every question
        run = driven(start(room))
        assert (run.status, run.done) == ("done", 2)
        assert set(run.items.values_list("state", flat=True)) == {"failed"}
    with writing(settings):
        retry_failed(run=run, actor=None)
        assert run.claim()
        run = driven(run)
    assert set(run.items.values_list("state", "error")) == {("made", "")}
    with pytest.raises(Refused, match="No query"):
        retry_failed(run=run, actor=None)


def more_queries(room: Room, count: int) -> None:
    ranked = RankedList.objects.get(run=room.source, query=room.first)
    for n in range(count):
        query = make_query(room.benchmark, f"more{n}", "biology", text=f"Moist soil, {n} times?")
        RankedList.objects.create(
            run=room.source, query=query, pids=ranked.pids, scores=ranked.scores
        )


def reclaimed(run: TrainingRun) -> TrainingRun:
    related = ("benchmark", "source", "corpus_version")
    again = TrainingRun.objects.select_related(*related).get(pk=run.pk)
    assert again.claim()
    return again


@pytest.mark.few
@pytest.mark.parametrize("steps", [(1, 2), (2, 1)])
def test_a_killed_run_asks_nothing_twice_and_ends_the_same(
    room, settings, monkeypatch, steps
) -> None:
    settings.ASSAY_CALLS_IN_FLIGHT = 2
    more_queries(room, 10)
    with writing(settings) as stub:
        run = start(room)
        for each in steps:
            live_until_killed(run, TRAINING.drive, monkeypatch, each)
            run = reclaimed(run)
        run = driven(run)
        assert (run.status, run.error, run.done) == ("done", "", run.total)
        asked = Counter(json.dumps(body["messages"]) for body in stub.asked)
        # Only what was on its way when a worker died can be asked again.
        again = asked.total() - len(asked)
        assert again <= len(steps) * run.calls_in_flight < len(asked)
        peaceful = driven(start(room, name="in peace"))
        assert Counter(json.dumps(body["messages"]) for body in stub.asked) == asked
    kept = ("item__query", "kind", "use", "passage", "score", "text", "leak", "call")
    both = [list(each.documents.order_by("item", "pk").values_list(*kept))
            for each in (run, peaceful)]  # fmt: skip
    assert both[0] == both[1]
    assert not TrainingDocument.objects.filter(call=None).exists()


def test_a_run_is_paused_goes_on_and_is_cancelled(room, settings) -> None:
    with writing(settings) as stub:
        run = start(room)
        run.release()
        pause_run(run=run, actor=None)
        assert not run.claim()
        resume_run(run=run, actor=None, pause_reason="")
        TRAINING.take_part(run.pk)  # as a worker does
        run.refresh_from_db()
        assert (run.status, run.done) == ("done", run.total)
        count = len(stub.asked)
        TRAINING.take_part(run.pk)  # delivered twice
        other = start(room, name="other")
        cancel_run(run=other, actor=None)
        TRAINING.take_part(other.pk)
        assert (other.status, other.documents.count(), len(stub.asked)) == ("cancelled", 0, count)


def test_a_budget_is_never_overspent(room, settings, tmp_path) -> None:
    prices = tmp_path / "prices.json"
    row = {"endpoint": "default", "model": "stub-1", "valid_from": "2025-01-01"}
    prices.write_text(json.dumps([row | {"input": "10", "cached": "10", "output": "10"}]))
    settings.ASSAY_PRICES = str(prices)
    with writing(settings):
        run = driven(start(room, budget_usd=Decimal("0.01")))
    assert run.status == "paused"
    assert "has no room for the next call" in run.pause_reason
    assert run.spent_usd <= Decimal("0.01")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"depth": 101}, "depth"),
        ({"positives": 4}, "positives"),
        ({"language": "Klingon"}, "language"),
        ({"shortest": 500, "longest": 400}, "longest"),
        ({"source": None, "labels": 0, "positives": 0}, "positives"),
        ({"domain": "alchemy"}, "domain"),
        ({"colour": "red"}, "colour"),
        ({"budget_usd": Decimal("-1")}, "budget_usd"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(room, settings, options, field) -> None:
    with writing(settings), pytest.raises(Refused) as refusal:
        start(room, **options)
    assert refusal.value.field == field
    assert not TrainingRun.objects.exists()


def test_a_changed_prompt_stops_a_run(room, settings, monkeypatch) -> None:
    with writing(settings):
        run = start(room)
        monkeypatch.setattr("evaluation.training.asking.digest", lambda: "other")
        assert "prompt changed" in driven(run).error


def test_the_practice_model_grades_and_writes_by_rule(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        run = driven(start(room, shortest=400, longest=800, positives=3))
        chinese = driven(start(room, depth=0, language="Chinese", negatives=0))
    assert run.practice
    assert [use for kind, use, _ in documents(run, room.first) if kind != "train_grade"] == [
        "positive",
        "negative",
    ]
    # Of does, mulch, keep, garden, soil, moist, summer five are among the seven of b1: 10 * 5 / 7.
    graded = run.documents.get(kind="train_grade", passage__pid="b1")
    assert (graded.score, graded.use) == (7, "positive")
    assert set(chinese.documents.values_list("use", "fault")) == {
        ("rejected", "The text is not in Chinese.")
    }


def test_people_are_asked_about_graded_pairs_as_about_any(room, settings) -> None:
    with writing(settings):
        run = driven(start(room))
    admin = make_member(room.benchmark, "ada", "admin")
    known = Judgment.objects.count()
    # b1 and b4 of the first query, both passages of the second, whose query has no answer.
    room.second.answers = []
    room.second.save()
    assert ask_people(run=run, size=10, seed=1, actor=admin) == 2
    asked = run.documents.filter(case__isnull=False)
    assert {each.passage.pid for each in asked} == {"b1", "b4"}
    for each in asked:
        assert (each.case.kind, each.case.snapshot["positions"]) == ("audit", [])
    assert Judgment.objects.count() == known
    with pytest.raises(Refused, match="left"):
        ask_people(run=run, size=10, seed=2, actor=admin)
    voters = [make_member(room.benchmark, f"v{n}", "annotator") for n in range(3)]
    case = asked.get(passage__pid="b4").case
    for voter in voters:
        cast_vote(case=case, voter=voter, label=1)
    said, wrong = people_said(run)
    assert (said, wrong.n, wrong.hits) == (2, 1, 1)
    # What they decided is a label of theirs.
    new = Judgment.objects.latest("pk")
    assert (new.source, new.passage.pid, new.label) == ("human", "b4", 1)
    # Voters read the benchmark's events, not who was drawn.
    assert not Event.objects.filter(scope="ranked", verb="ask about grades").exists()
    for size, seed in ((0, 1), (1001, 1), (5, -1)):
        with pytest.raises(Refused):
            ask_people(run=run, size=size, seed=seed, actor=admin)


def test_pairs_that_people_are_asked_about_hide_among_disputes_without_their_debate(
    room, settings
) -> None:
    with writing(settings):
        run = driven(start(room))
    debates = make_run(room.benchmark, status="done")
    for number in range(8):
        pair = {
            "query": room.first,
            "passage": make_passage(room.benchmark, f"d{number}", "biology"),
        }
        debate = make_debate(debates, "escalated", **pair)
        snapshot = make_snapshot()
        debate.case = open_case(
            origin=f"debate:{debate.pk}", kind=CaseKind.DISPUTE, snapshot=snapshot, **pair
        )
        debate.save()
    room.second.answers = []
    room.second.save()
    assert ask_people(run=run, size=10, seed=1, actor=None) == 2
    alone = EscalationCase.objects.filter(snapshot__positions=[])
    kinds = alone.order_by("kind").values_list("kind", flat=True)
    assert list(kinds) == ["audit", "audit", "dispute", "dispute"]
    assert Event.objects.get(verb="ask about grades").data["fillers"] == 2


def test_only_what_has_a_text_is_graded(room, settings) -> None:
    assert TEXTS["b5"] is None
    room.first.excluded_ids = ["b1"]
    room.first.save()
    RankedList.objects.filter(query=room.first).update(
        pids=["b1", "b5", "gone", "b2"], scores=[4, 3, 2, 1]
    )
    with writing(settings):
        run = driven(start(room, positives=0, negatives=0))
    assert documents(run, room.first) == [("train_grade", "dropped", "b2")]
    assert Call.objects.filter(role="train_grade").count() == run.documents.count()
