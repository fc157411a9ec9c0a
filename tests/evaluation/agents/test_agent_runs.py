"""Runs of search agents and judges to their end, with the practice model over real HTTP."""

import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from annotate.models import Aspect
from evaluation.agents.judging import retry_failed as judge_again
from evaluation.agents.judging import start_judging, trial_of
from evaluation.agents.models import AgentItem, AgentRun, AgentState, AnswerVerdict, JudgeRun
from evaluation.agents.services import candidates, forecast, retry_failed
from evaluation.tasks import AGENTS, JUDGES
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from llm.models import Call
from tests.debate.answering import answering
from tests.evaluation.agents.room import Place
from tests.factories import make_ranking
from tests.llm.stub import completion, page, status

pytestmark = pytest.mark.django_db(transaction=True)


def judged(place: Place, run: AgentRun | None, **options) -> JudgeRun:
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        found = start_judging(
            benchmark=place.room.benchmark,
            agent_run=run,
            endpoint=endpoint,
            actor=None,
            claimed=True,
            **options,
        )
        JUDGES.drive(found)
    found.refresh_from_db()
    return found


def test_fixed_rounds_end_in_an_answer_a_round(place) -> None:
    run = place.run(rounds=3)
    assert (run.status, run.error, run.practice) == ("done", "", True)
    for item in run.items.all():
        assert (item.state, item.error) == (AgentState.FINISHED, "")
        assert [each["round"] for each in item.answers] == [1, 2, 3]
        assert item.round_count == sum(bool(found) for found in item.rounds.values())
        known = {pid for found in item.rounds.values() for pid in found}
        assert known <= {*place.room.passages, "leaves/page_9.txt"}
        # The transcript is in the ledger: every turn and answer names its call.
        calls = [turn["call"] for turn in item.turns] + [each["call"] for each in item.answers]
        assert Call.objects.filter(pk__in=calls, status="answered").count() == len(set(calls))
    assert run.calls.count() == len(set(run.calls.values_list("key", flat=True)))
    assert Event.objects.filter(verb="start search agent").count() == 1


def test_an_adaptive_agent_stops_by_itself_and_its_repetitions_are_drawn_apart(place) -> None:
    run = place.run(repetitions=2)
    assert (run.done, run.total) == (4, 4)
    first, again = run.items.filter(query=place.room.query).order_by("repetition")
    assert len(first.answers) == len(again.answers) == 1
    # The same rule says the same, in calls of its own.
    assert first.answers[0]["text"] == again.answers[0]["text"]
    assert first.answers[0]["call"] != again.answers[0]["call"]
    assert "[lamps/page_" in first.answers[0]["text"]
    assert 1 <= first.round_count <= 4


def test_excluded_ids_are_never_returned(place) -> None:
    place.room.query.excluded_ids = ["lamps/page_4.txt"]
    place.room.query.save()
    run = place.run(rounds=2)
    item = run.items.get(query=place.room.query)
    assert "lamps/page_4.txt" not in {pid for found in item.rounds.values() for pid in found}


def test_every_answer_is_judged_and_completeness_follows_from_the_scores(place) -> None:
    run = place.run(rounds=2)
    found = judged(place, run, repetitions=2)
    assert (found.status, found.error) == ("done", "")
    rows = list(found.verdicts.all())
    assert len(rows) == run.total * 2 * 2
    for row in rows:
        assert row.state == "judged"
        weights = dict(
            Aspect.objects.filter(query=row.query_id, removed_at=None).values_list("k", "weight")
        )
        assert row.weights == {f"a{k}": weight for k, weight in weights.items()}
        share = sum(row.weights[a] * s for a, s in row.scores.items()) / sum(row.weights.values())
        assert row.completeness == round(4 * share + 1)
    # The bill is the ledger: each run is charged for its own calls.
    assert run.calls.count() + found.calls.count() == Call.objects.count()


def test_a_judge_is_tried_on_answers_of_known_order(place) -> None:
    found = judged(place, None)
    means = trial_of(found)
    assert means is not None
    assert means["completeness"][0] > means["completeness"][-1]
    assert set(found.verdicts.values_list("tier", flat=True)) == {
        "reference",
        "opening",
        "platitude",
    }


def test_a_judge_that_failed_its_trial_is_not_asked(place) -> None:
    run = place.run(rounds=1)
    trial = judged(place, None)
    AnswerVerdict.objects.filter(run=trial, tier="platitude").update(quality=5, completeness=5)
    with pytest.raises(Refused, match="failed its last trial"):
        judged(place, run)
    judged(place, run, mode="likert_pair")  # another judge


def test_what_cannot_be_is_refused(place) -> None:
    with endpoints.practice_if_unconfigured("agents") as endpoint:
        for options, field in (
            ({"rounds": 0}, "rounds"),
            ({"repetitions": 0}, "repetitions"),
            ({"k": 0}, "k"),
            ({"max_iterations": 101}, "max_iterations"),
            ({"tokenizer": "gpt"}, "tokenizer"),
            ({"temperature": 3.0}, "temperature"),
            ({"reasoning_effort": "much"}, "reasoning_effort"),
            ({"budget_usd": Decimal("-1")}, "budget_usd"),
        ):
            with pytest.raises(Refused) as refusal:
                place.start(endpoint, **options)
            assert refusal.value.field == field
        imported = make_ranking(place.room.query, "lamps/page_1.txt", name="imported").run
        place.retriever = imported
        with pytest.raises(Refused, match="has no index"):
            place.start(endpoint)
    assert not AgentRun.objects.exists()


def test_failed_queries_alone_are_run_again_and_what_was_paid_is_not_paid_twice(
    place, settings
) -> None:
    search = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    turn = completion(None)
    turn["choices"][0]["message"]["tool_calls"] = [search]
    turn["choices"][0]["finish_reason"] = "tool_calls"
    place.without_other()
    called = page(json.dumps(turn), "application/json")
    with answering(settings, called, status(400), "Answer: So [x].\nConfidence: 7%") as stub:
        run = place.start(endpoints.for_role("agents"))
        AGENTS.drive(run)
        run.refresh_from_db()
        item = run.items.get()
        assert (run.status, item.state) == ("done", AgentState.FAILED)
        assert "scripted 400" in item.error
        retry_failed(run=run, actor=None)
        run.refresh_from_db()
        assert (run.status, run.done) == ("queued", 0)
        assert run.claim()
        AGENTS.drive(run)
        assert len(stub.asked) == 3  # the first turn came from the ledger
    item.refresh_from_db()
    assert (item.state, item.error, item.round_count) == (AgentState.FINISHED, "", 0)
    assert item.turns[0]["uses"][0]["fault"] == "search needs the argument query, a text."
    assert item.answers == [{**item.answers[0], "text": "So [x].", "confidence": 7.0}]
    with pytest.raises(Refused, match="No query of this run has failed"):
        run.refresh_from_db()
        retry_failed(run=run, actor=None)


def test_unreadable_verdicts_fail_and_can_be_judged_again(place, settings) -> None:
    place.without_other()
    run = place.run(rounds=1)
    scores = {f"a{k}": 1 for k in (1, 2, 3)}
    good = json.dumps({"aspect_scores": scores, "overall_quality": 5, "justification": ""})
    with answering(settings, *["no"] * 4, good) as stub:
        found = start_judging(
            benchmark=place.room.benchmark,
            agent_run=run,
            endpoint=endpoints.for_role("grader"),
            actor=None,
            claimed=True,
        )
        JUDGES.drive(found)
        row = found.verdicts.get()
        assert (row.state, len(row.attempts), row.quality) == ("failed", 4, None)
        found.refresh_from_db()
        judge_again(run=found, actor=None)
        assert found.claim()
        JUDGES.drive(found)
        # What was answered is not asked again: four unreadable replies stand in the ledger.
        assert len(stub.asked) == 4
    row.refresh_from_db()
    assert row.state == "failed"


def test_a_forecast_grows_with_rounds_and_repetitions(place) -> None:
    queries = candidates(place.room.benchmark)
    with endpoints.practice_if_unconfigured("agents") as endpoint:
        one = forecast(queries, endpoint, rounds=1)
        three = forecast(queries, endpoint, rounds=3, repetitions=2)
    assert (one["queries"], one["calls"]) == (2, 4)
    assert (three["queries"], three["calls"]) == (4, 4 * 6)
    assert three["input_tokens"] > 2 * one["input_tokens"]


def test_agents_and_judges_from_the_shell(place, capsys) -> None:
    slug = place.room.benchmark.slug
    call_command("run_agent", slug, rounds=2, json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["states"], told["faults"]) == ("done", {"finished": 2}, {})
    call_command("judge_answers", slug, run=told["run"])
    assert "is done: 4 judged" in capsys.readouterr().out
    call_command("judge_answers", slug, trial=True, json=True)
    assert set(json.loads(capsys.readouterr().out)["tiers"]) == {"completeness", "quality"}
    call_command("agent_board", slug)
    assert "# Fixed rounds\nrun,agent,retriever," in capsys.readouterr().out
    call_command("agent_board", slug, json=True)
    assert json.loads(capsys.readouterr().out)[0]["name"] == "fixed"
    with pytest.raises(CommandError, match="no judge by judge run 999"):
        call_command("agent_board", slug, judge=999)
    with pytest.raises(CommandError, match="Choose a computed run"):
        call_command("run_agent", slug, retriever="none")
    with pytest.raises(CommandError, match="no domain 'x'"):
        call_command("run_agent", slug, domain="x")
    with pytest.raises(CommandError, match="no such agent run"):
        call_command("judge_answers", slug, run=999)
    assert AgentItem.objects.count() == 2
