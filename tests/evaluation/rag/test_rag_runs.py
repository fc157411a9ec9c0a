"""Runs of generated answers to their end, with the practice model over real HTTP."""

from decimal import Decimal

import pytest

from evaluation.rag.models import AnswerState, RagAnswer, RagRun
from evaluation.rag.services import candidates, forecast, retry_failed
from evaluation.tasks import RAG
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from llm.models import Call
from tests.debate.answering import answering
from tests.evaluation.rag.room import LAMPS, LEAVES, TRUE, Place, make_place
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place() -> Place:
    return make_place()


def by_source(run: RagRun, place: Place, query=None) -> dict[str, RagAnswer]:
    rows = run.answers.filter(query=query or place.room.query).select_related("source")
    return {row.source.name: row for row in rows}


def test_every_query_is_answered_from_every_source_and_both_baselines(place) -> None:
    run = place.run()
    assert (run.status, run.error, run.practice) == ("done", "", True)
    assert (run.done, run.total) == (8, 8)
    rows = by_source(run, place)
    assert list(rows) == ["no retrieval", "gold evidence", "good", "poor"]
    assert rows["good"].passages == [LAMPS(1), LAMPS(2)]
    assert rows["good"].missing == 1  # gone.txt is ranked, and no passage here
    assert rows["gold evidence"].passages == [LAMPS(n) for n in (1, 2, 3, 4)]
    assert rows["good"].answers == [TRUE]
    assert (rows["good"].accuracy, rows["good"].exact, rows["good"].f1) == (1, 1, 1.0)
    assert rows["no retrieval"].answers == ["No relevant information found."]
    assert (rows["no retrieval"].is_informed, rows["no retrieval"].accuracy) == (False, 0)
    # A query that a system does not rank is answered from nothing, and counts.
    other = by_source(run, place, place.room.other)["poor"]
    assert (other.passages, other.is_informed, other.f1) == ([], False, 0.0)
    assert by_source(run, place, place.room.other)["good"].passages == [LEAVES]
    assert Call.objects.filter(pk__in=run.answers.values("call"), status="answered").exists()
    assert Event.objects.filter(verb="start answering").count() == 1
    sheet = run.sources.get(name="good").sheet
    assert sheet["queries"] == sorted([place.room.query.pk, place.room.other.pk])
    assert (sheet["missing"], sheet["failed"], sheet["uninformed"]) == (1, 0, 0)


def test_the_first_k_passages_go_out_without_what_a_query_excludes(place) -> None:
    place.room.query.excluded_ids = [LAMPS(1)]
    place.room.query.save()
    run = place.run(k=1, runs=[place.good], baselines=False)
    assert by_source(run, place)["good"].passages == [LAMPS(2)]


def test_long_answers_need_a_reference_or_true_answers(place) -> None:
    place.room.other.answers = []
    place.room.other.save()
    short = candidates(place.room.benchmark, harness="short")
    assert list(short) == [place.room.query]
    place.room.query.answers = []
    place.room.query.save()
    assert list(candidates(place.room.benchmark, harness="long")) == [place.room.query]
    run = place.run(harness="long")
    rows = by_source(run, place)
    assert "[1]" in rows["good"].text
    assert rows["good"].accuracy is None  # no short answer to hold it against
    assert rows["no retrieval"].text == "Nothing was found."


def test_another_run_pays_for_nothing_that_was_answered(place) -> None:
    first = place.run()
    calls = Call.objects.count()
    again = place.run()
    assert Call.objects.count() == calls
    answers = [list(each.answers.values_list("answers", "call")) for each in (first, again)]
    assert answers[0] == answers[1]


def test_what_cannot_be_is_refused(place) -> None:
    with endpoints.practice_if_unconfigured("answerer") as endpoint:
        for options, field in (
            ({"harness": "medium"}, "harness"),
            ({"k": 0}, "k"),
            ({"max_tokens": 1}, "max_tokens"),
            ({"temperature": 3.0}, "temperature"),
            ({"reasoning_effort": "much"}, "reasoning_effort"),
            ({"domain": "nowhere"}, "domain"),
            ({"runs": [], "baselines": False}, "runs"),
            ({"budget_usd": Decimal("-1")}, "budget_usd"),
        ):
            with pytest.raises(Refused) as refusal:
                place.start(endpoint, **options)
            assert refusal.value.field == field
    assert not RagRun.objects.exists()


def test_a_retrieval_run_that_is_gone_ends_the_run_in_words(place) -> None:
    with endpoints.practice_if_unconfigured("answerer") as endpoint:
        run = place.start(endpoint, runs=[place.good])
        place.good.delete()
        RAG.drive(run)
    run.refresh_from_db()
    assert (run.status, run.error) == ("failed", "The retrieval run good is gone.")


def test_failed_answers_alone_are_asked_again(place, settings) -> None:
    said = '{"Answer": "light"}'
    with answering(settings, status(400), said, said) as stub:
        run = place.start(endpoints.for_role("answerer"), runs=[place.good], baselines=False)
        RAG.drive(run)
        run.refresh_from_db()
        states = sorted(run.answers.values_list("state", flat=True))
        assert (run.status, states) == ("done", ["answered", "failed"])
        retry_failed(run=run, actor=None)
        run.refresh_from_db()
        assert (run.status, run.done) == ("queued", 1)
        assert run.claim()
        RAG.drive(run)
        assert len(stub.asked) == 3
    assert not run.answers.exclude(state=AnswerState.ANSWERED).exists()
    run.refresh_from_db()
    with pytest.raises(Refused, match="No answer of this run has failed"):
        retry_failed(run=run, actor=None)


def test_a_forecast_counts_every_source(place) -> None:
    queries = candidates(place.room.benchmark, harness="short")
    with endpoints.practice_if_unconfigured("answerer") as endpoint:
        one = forecast(queries, endpoint, runs=1, baselines=False)
        four = forecast(queries, endpoint, runs=2)
    assert (one["queries"], one["calls"], four["calls"]) == (2, 2, 8)
    assert four["input_tokens"] > 3 * one["input_tokens"]
