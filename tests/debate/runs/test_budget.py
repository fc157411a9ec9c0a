"""A run that may spend so much and no more, and what it is expected to spend."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from debate.models import Debate, DebateRun
from debate.runs.forecast import forecast_run, from_measured, from_requests
from debate.runs.services import start_run
from debate.runs.trajectories import Trajectory
from debate.tasks import run_debates
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from kit.runs.moves import resume_run
from llm import endpoints
from llm.ledger.accounts import set_budget
from llm.ledger.reading import spending
from llm.models import Call
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.llm.stub import completion, status

database = pytest.mark.django_db(transaction=True)
# An answer of the stub has 100 tokens in, 40 of them cached, and 20 out:
# 60 x 10 + 40 x 10 + 20 x 50 = 2,000 millionths of a dollar.
ROW = {"endpoint": "*", "model": "stub-1", "valid_from": "2026-01-01"}
COST = Decimal("0.002")


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([{**ROW, "input": "10", "cached": "10", "output": "50"}]))
    settings.ASSAY_PRICES = str(path)


def run_of(count: int, **fields: Any) -> DebateRun:
    """A queued run over so many pairs."""
    benchmark = make_benchmark()
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(count)]
    run = start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *pairs),
        endpoint=endpoints.get("default"),
        actor=None,
    )
    DebateRun.objects.update(calls_in_flight=4, max_tokens=50, **fields)
    run.refresh_from_db()
    return run


def admin_of(run: DebateRun) -> Any:
    return make_member(run.benchmark, "admin", "admin")


@database
def test_run_pauses_where_the_next_call_does_not_fit_and_goes_on_after_a_raise(settings) -> None:
    with answering(settings, turn("no")) as stub:
        run = run_of(20)
        admin = admin_of(run)
        set_budget(run, Decimal("0.09"), actor=admin, scope="")
        run_debates(run.pk)
        run.refresh_from_db()
        assert run.status == RunStatus.PAUSED
        assert "The budget of $0.09 has no room" in run.pause_reason
        assert "Raise the budget, then resume" in run.pause_reason
        assert run.spent_usd <= Decimal("0.09")
        assert run.spent_usd == COST * len(stub.asked)
        waiting = Debate.objects.waiting().count()
        assert 0 < waiting < 20
        assert run.done == 20 - waiting == Debate.objects.filter(status="agreed").count()
        assert f"{waiting} pairs keep waiting" in run.pause_reason

        set_budget(run, Decimal("10"), actor=admin, scope="")
        resume_run(run=run, actor=admin)
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done, run.pause_reason) == (RunStatus.DONE, 20, "")
    assert len(stub.asked) == 40  # what was paid before the pause was not paid again
    assert run.spent_usd == 40 * COST
    assert spending(run.calls).usd == run.account.spent_usd
    assert Event.objects.filter(verb="set budget of debate run", actor=admin).count() == 2


@database
def test_calls_of_unknown_cost_stay_held_and_the_words_say_so(settings) -> None:
    silent = status(200, body=completion(turn("no"), usage=None))
    with answering(settings, silent):
        run = run_of(20)
        set_budget(run, Decimal("0.20"), actor=None, scope="")
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.spent_usd) == (RunStatus.PAUSED, 0)
    assert 0 < run.reserved_usd <= Decimal("0.20")
    assert "held for calls" in run.pause_reason


@database
def test_budget_without_a_known_price_is_refused_and_stops_no_run_without(settings) -> None:
    with answering(settings, turn("no")):
        settings.ASSAY_PRICES = ""
        run = run_of(1)
        with pytest.raises(Refused, match=r"stub-1.*ASSAY_PRICES"):
            set_budget(run, Decimal("5"), actor=None, scope="")
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.budget_usd) == (RunStatus.DONE, None)
    assert set(Call.objects.values_list("usd", flat=True)) == {None}


@database
def test_run_made_with_a_budget_stops_before_its_first_call_without_a_price(settings) -> None:
    with answering(settings, turn("no")) as stub:
        settings.ASSAY_PRICES = ""
        run = run_of(3, budget_usd=Decimal("5"))
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, stub.asked, run.done) == (RunStatus.FAILED, [], 0)
    assert "No price is known for the model “stub-1”" in run.error


@database
@pytest.mark.parametrize("usd", ["-1", "0.001", "NaN", "1e9"])
def test_amount_that_is_none_is_refused(settings, usd: str) -> None:
    with answering(settings, turn("no")), pytest.raises(Refused, match="dollars and cents"):
        set_budget(run_of(1), Decimal(usd), actor=None, scope="")


def pair(calls: int, given: int, taken: int, usd: str | None) -> Trajectory:
    priced = {(1, "A"): Decimal(usd)} if usd else {}
    return Trajectory(1, calls=calls, input_tokens=given, output_tokens=taken, priced=priced)


def test_measured_forecast_shows_its_arithmetic() -> None:
    # 10 pairs of 2 calls and 10 of 4: mean 3, standard deviation sqrt(20/19) = 1.02598;
    # over 100 pairs: 300 +- 1.96 x 1.02598 x sqrt(100^2 / 20 + 100) = 300 +- 49.26
    sample = [pair(2, 200, 20, "0.01")] * 10 + [pair(4, 400, 40, "0.02")] * 10
    found = from_measured(sample, pairs=100)
    assert found["calls"]["likely"] == 300
    assert found["calls"]["low"] == pytest.approx(250.74, abs=0.01)
    assert found["calls"]["high"] == pytest.approx(349.26, abs=0.01)
    assert found["usd"] is not None
    assert found["usd"]["likely"] == pytest.approx(1.5)
    assert (found["sample"], found["is_measured"]) == (20, True)


def test_one_sampled_pair_without_a_price_leaves_the_cost_open() -> None:
    assert from_measured([pair(2, 1, 1, "0.1"), pair(2, 1, 1, None)], pairs=5)["usd"] is None


def test_estimated_forecast_shows_its_arithmetic() -> None:
    # 10 pairs of 2 calls and 1,000 tokens a round, one to three rounds, two likely.
    sample = [(2, 1000)]
    found = from_requests(
        sample, pairs=10, rounds=(1, 3), cost=lambda given, taken: given + 2 * taken
    )
    assert (found["calls"]["low"], found["calls"]["likely"], found["calls"]["high"]) == (20, 40, 60)
    assert found["input_tokens"]["likely"] == 10 * 1000 * 2 * 0.9
    assert found["output_tokens"]["high"] == 60 * 300
    assert found["usd"] is not None
    assert found["usd"]["likely"] == 18_000 + 2 * 40 * 150


@pytest.mark.slow
@database
def test_forecast_before_and_after_there_is_something_measured(settings) -> None:
    with answering(settings, turn("no")):
        run = run_of(30)
        before = forecast_run(run)
        run_debates(run.pk)
        Debate.objects.filter(passage__pid__gte="p25").delete()
        again = start_run(
            benchmark=run.benchmark, pool=run.pool, endpoint=endpoints.get("default"), actor=None
        )
        after = forecast_run(again)
    assert (before["pairs"], before["is_measured"], before["sample"]) == (30, False, 30)
    assert before["calls"]["low"] == 60 <= after["calls"]["likely"] == 60
    assert before["usd"] is not None
    assert (after["pairs"], after["is_measured"], after["sample"]) == (30, True, 25)
    assert after["usd"] is not None
    assert after["usd"]["likely"] == pytest.approx(float(60 * COST))
    assert 0 < before["usd"]["low"] < before["usd"]["likely"] < before["usd"]["high"]


@database
def test_run_without_pairs_left_takes_nothing(settings) -> None:
    with answering(settings, turn("no")):
        run = run_of(2)
        Debate.objects.update(status="failed")
        found = forecast_run(run)
    assert (found["pairs"], found["calls"]["high"]) == (0, 0)
