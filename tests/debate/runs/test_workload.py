"""What a run will ask of people, and what the models that are offered cost and were worth."""

import json
from typing import Any

import pytest

from annotate.models import EscalationCase, Vote
from debate.baselines.lara import budget_for
from debate.models import RunKind
from debate.runs.configuration import LaraOptions, ModelChoice, RunConfig
from debate.runs.offers import offers
from debate.runs.planning import plan_run
from debate.runs.workload import expected, workload
from debate.tasks import run_debates
from llm import endpoints
from tests.debate.answering import answering, turn
from tests.debate.runs.test_budget import _prices, run_of  # noqa: F401  (a fixture)
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)
LLAMA = ModelChoice("llama", "one")


def test_cases_to_come_show_their_arithmetic() -> None:
    # 10 of 96: (10 + 2) / (96 + 4) = .12; over 100 pairs 1.96 sqrt(.12 x .88 (100^2/100 + 100))
    # = 9.007 around 12, and 10.42 likely.
    found = expected(10, 96, 100)
    assert found["likely"] == pytest.approx(10.4167, abs=1e-3)
    assert (found["low"], found["high"]) == pytest.approx((2.992, 21.007), abs=1e-2)
    none = expected(0, 20, 100)
    assert (none["low"], none["likely"]) == (0.0, 0.0)
    assert none["high"] > 10


@pytest.mark.parametrize(
    ("changes", "outcomes", "likely", "basis"),
    [
        ({}, [], 7.0, "published"),
        ({}, ["agreed"] * 30 + ["escalated"] * 8 + ["refused"] * 2, 50.0, "measured"),
        ({"on_refusal": "skip"}, ["agreed"] * 38 + ["refused"] * 2, 0.0, "measured"),
        ({"adjudicator": LLAMA}, [], 0.0, "settings"),
        ({"kind": RunKind.HUMAN_ONLY}, [], 200.0, "settings"),
        ({"kind": RunKind.LARA, "lara": LaraOptions(mode="live")}, [], 25.0, "settings"),
        ({"kind": RunKind.LARA}, ["escalated"] * 40, 0.0, "settings"),
    ],
)
def test_cases_follow_the_rule_of_the_run(changes, outcomes, likely, basis) -> None:
    config = RunConfig(agents=(LLAMA, LLAMA), **changes)
    found = workload(make_benchmark(), config, pairs=200, outcomes=outcomes)
    assert found["basis"] == basis
    assert found["cases"]["likely"] == pytest.approx(likely)
    assert found["votes"]["likely"] == pytest.approx(3 * likely)
    # Nothing was timed: the plan supposes a minute a vote.
    assert found["votes_timed"] == 0
    assert found["seconds"]["likely"] == pytest.approx(180 * likely)
    assert budget_for(0.125, 200) == 25


def test_vote_of_models_that_was_never_held_says_so_and_audits_are_work_too() -> None:
    benchmark = make_benchmark()
    unknown = workload(benchmark, RunConfig(kind=RunKind.VOTE), pairs=9, outcomes=[])
    assert (unknown["cases"], unknown["votes"], unknown["seconds"]) == (None, None, None)
    config = RunConfig(agents=(LLAMA, LLAMA), audit=50)
    found = workload(benchmark, config, pairs=1000, outcomes=[])
    assert found["audit"] == 50
    assert found["votes"]["likely"] == pytest.approx(3 * 85)
    trial = RunConfig(agents=(LLAMA, LLAMA), audit=50, trial=True)
    found = workload(benchmark, trial, pairs=1000, outcomes=[])
    assert (found["audit"], found["after_adoption"]) == (0, True)


def test_vote_takes_what_votes_took_here() -> None:
    benchmark = make_benchmark()
    query, voter = make_query(benchmark), make_member(benchmark, "ann", "annotator")
    for n in range(20):
        passage = make_passage(benchmark, f"p{n}")
        case = EscalationCase.objects.create(origin=f"x:{n}", query=query, passage=passage)
        # The page of the last was left open: it counts as ten minutes.
        Vote.objects.create(
            case=case, voter=voter, label=1, elapsed_ms=20_000 if n < 19 else 10**7, link=str(n)
        )
    found = workload(benchmark, RunConfig(kind=RunKind.HUMAN_ONLY), pairs=10, outcomes=[])
    assert (found["votes_timed"], found["seconds_a_vote"]) == (20, (19 * 20 + 600) / 20)
    assert found["seconds"]["likely"] == pytest.approx(30 * 49)


def test_models_are_offered_with_their_price_and_how_right_they_were(
    settings: Any, tmp_path: Any
) -> None:
    with answering(settings, turn("no")) as stub:
        run = run_of(4)
        first, second = run.debates.order_by("pk")[:2]
        make_gold(first.query, first.passage)
        make_gold(second.query, second.passage, label=0)
        run_debates(run.pk)
        del stub
        given = {"benchmark": run.benchmark, "pool": run.pool, "endpoint": endpoints.get("default")}
        assert offers(plan_run(**given)) == []  # one alone is no choice
        file = tmp_path / "endpoints.json"
        place = {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-hidden"}
        file.write_text(json.dumps([{"name": "two", "default_model": "qwen", **place}]))
        settings.ASSAY_ENDPOINTS = str(file)
        plan = plan_run(**given)
        asked, other = offers(plan)
    assert (asked["endpoint"], other["model"]) == ("default", "qwen")
    assert asked["usd"]["low"] > 0
    # "no" to one relevant and to one irrelevant passage.
    assert (asked["accuracy"]["value"], asked["known"], asked["run"]) == (0.5, 2, run.pk)
    assert (other["usd"], other["accuracy"], other["run"]) == (None, None, None)
