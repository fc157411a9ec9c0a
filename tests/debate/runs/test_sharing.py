"""Two workers at one run: each pair once, each call once, and what stops one stops both."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from django.db import connection
from django.utils import timezone

from corpus.models import Judgment, Passage
from debate.answers.services import candidates, start_answers
from debate.models import AnswerRun, Debate, DebateRun, Turn
from debate.runs.services import retry_failed, start_run
from debate.tasks import ANSWERS, DEBATES, run_debates
from kit.runs.models import LostLease, RunGroup, RunStatus
from kit.runs.moves import cancel_run, pause_run
from kit.runs.polling import due_runs
from kit.runs.sharing import Share, cut
from llm import endpoints
from llm.ledger.accounts import set_budget
from llm.models import Call
from tests.annotate.answering import make_room
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.llm.stub import completion, status
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
PAIRS, IN_FLIGHT = 60, 4


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    monkeypatch.setattr("kit.runs.sharing.GROUP", 5)
    monkeypatch.setattr("llm.limits.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("llm.limits.LONGEST_WAIT_S", 0.05)


class Endpoint:
    """Takes a while for each answer, and knows how many wait for one."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds = seconds
        self.asked = self.at_once = self.most = 0

    async def answer(self) -> web.StreamResponse:
        self.asked += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(self.seconds)
        self.at_once -= 1
        return web.json_response(completion(turn("no")))


def claimed_run(count: int = PAIRS) -> DebateRun:
    """A run that this process has claimed, cut into groups."""
    benchmark = make_benchmark()
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(count)]
    run = start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *pairs),
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=True,
    )
    DebateRun.objects.update(calls_in_flight=IN_FLIGHT, max_tokens=50)
    run.refresh_from_db()
    cut(run)
    return run


def again(run: DebateRun) -> DebateRun:
    return DebateRun.objects.select_related("benchmark").get(pk=run.pk)


def together(run: DebateRun, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Drive the run by its leader and a helper, and do something when both are at work."""

    def help_out() -> None:
        try:
            DEBATES.drive(again(run), leads=False)
        finally:
            connection.close()

    def lead() -> None:
        try:
            DEBATES.drive(run)
        finally:
            connection.close()

    workers = [threading.Thread(target=each) for each in (lead, help_out)]
    for each in workers:
        each.start()
    meanwhile()
    for each in workers:
        each.join(240)
        assert not each.is_alive()


def admin_of(run: DebateRun) -> Any:
    return make_member(run.benchmark, "admin", "admin")


@pytest.mark.slow
def test_two_workers_hold_every_pair_once_with_twice_the_calls_in_flight(settings) -> None:
    endpoint = Endpoint()
    with answering(settings, endpoint.answer):
        run = claimed_run()
        together(run)
    run.refresh_from_db()
    assert (run.status, run.done, run.error) == (RunStatus.DONE, PAIRS, "")
    assert set(Debate.objects.values_list("status", "label")) == {("agreed", 0)}
    assert (Judgment.objects.count(), Turn.objects.count()) == (PAIRS, 2 * PAIRS)
    assert endpoint.asked == 2 * PAIRS
    assert set(Counter(Call.objects.values_list("key", flat=True)).values()) == {1}
    assert IN_FLIGHT < endpoint.most <= 2 * IN_FLIGHT
    assert set(run.groups.values_list("status", "total")) == {(RunStatus.DONE, 5)}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL notifies instead")
def test_others_are_called_as_soon_as_there_are_groups(settings, tmp_path: Path) -> None:
    settings.WAKE_FILE = tmp_path / "wake"
    called: list[bool] = []

    async def answer() -> web.StreamResponse:
        called.append(settings.WAKE_FILE.exists())
        return web.json_response(completion(turn("no")))

    with answering(settings, answer):
        run = claimed_run(6)
        settings.WAKE_FILE.unlink(missing_ok=True)
        DEBATES.drive(run)
    assert called == [True] * 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "state"), [(pause_run, RunStatus.PAUSED), (cancel_run, RunStatus.CANCELLED)]
)
def test_who_stops_the_run_stops_both(settings, stop: Any, state: str) -> None:
    endpoint = Endpoint()
    with answering(settings, endpoint.answer):
        run = claimed_run()
        admin = admin_of(run)

        def halt() -> None:
            wait_until(lambda: endpoint.most > IN_FLIGHT and again(run).done)
            stop(run=again(run), actor=admin)

        together(run, halt)
    run.refresh_from_db()
    assert run.status == state
    assert 0 < run.done == PAIRS - Debate.objects.waiting().count() < PAIRS
    # The answers that were on their way are in the ledger.
    assert set(Call.objects.values_list("status", flat=True)) == {"answered"}
    assert not run.groups.filter(status=RunStatus.RUNNING).exists()
    assert endpoint.asked < 2 * PAIRS


@pytest.mark.slow
def test_a_budget_is_kept_by_both_together(settings, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    row = {"endpoint": "*", "model": "stub-1", "valid_from": "2026-01-01"}
    prices.write_text(json.dumps([{**row, "input": "10", "cached": "10", "output": "50"}]))
    settings.ASSAY_PRICES = str(prices)
    endpoint = Endpoint()
    with answering(settings, endpoint.answer):
        run = claimed_run()
        set_budget(run, Decimal("0.10"), actor=None, scope="")
        together(run)
    run = again(run)
    assert (run.status, "has no room" in run.pause_reason) == (RunStatus.PAUSED, True)
    assert run.spent_usd == Decimal("0.002") * endpoint.asked <= Decimal("0.10")
    assert 0 < run.done == PAIRS - Debate.objects.waiting().count() < PAIRS


def test_a_helper_that_meets_an_outage_pauses_the_run_for_all(settings) -> None:
    with answering(settings, status(400)) as stub:
        run = claimed_run()
        DEBATES.drive(again(run), leads=False)
        assert len(stub.asked) <= 20 + IN_FLIGHT  # the first twenty were all refused
    found = again(run)
    assert (found.status, "scripted 400" in found.pause_reason) == (RunStatus.PAUSED, True)
    assert Debate.objects.waiting().count() >= PAIRS - 20
    with pytest.raises(LostLease):
        Share(run).beat()
    assert not run.groups.filter(status=RunStatus.RUNNING).exists()


@pytest.mark.slow
def test_a_fault_in_the_settings_of_a_helper_is_left_to_the_leader(settings) -> None:
    with answering(settings, turn("no")):
        run = claimed_run()
        DebateRun.objects.update(endpoint="elsewhere")  # as on a machine that knows fewer
        DEBATES.drive(again(run), leads=False)
        assert again(run).status == RunStatus.RUNNING
        DebateRun.objects.update(endpoint=run.endpoint)
        DEBATES.drive(run)
    assert (again(run).status, again(run).done) == (RunStatus.DONE, PAIRS)


@pytest.mark.slow
def test_a_helper_leaves_the_end_of_the_run_to_the_leader(settings) -> None:
    with answering(settings, turn("no")) as stub:
        run = claimed_run()
        DEBATES.drive(again(run), leads=False)
        assert (again(run).status, again(run).done) == (RunStatus.RUNNING, PAIRS)
        DEBATES.drive(run)
    assert (again(run).status, len(stub.asked)) == (RunStatus.DONE, 2 * PAIRS)


@pytest.mark.slow
def test_what_a_dead_helper_held_is_taken_over(settings) -> None:
    with answering(settings, turn("no")) as stub:
        run = claimed_run()
        dead = Share(again(run), leads=False)
        held = [dead.claim(), dead.claim()]
        assert all(held)
        gone = timezone.now() - timedelta(seconds=1)
        run.groups.filter(owner__gt="").update(lease_until=gone)
        DEBATES.drive(run)
        assert (again(run).status, again(run).done) == (RunStatus.DONE, PAIRS)
        assert len(stub.asked) == 2 * PAIRS
    with pytest.raises(LostLease):
        dead.hold_groups(group for group in held if group)


def test_a_stalled_worker_does_not_begin_its_own_group_a_second_time(settings) -> None:
    with answering(settings, turn("no")):
        run = claimed_run(5)
    share, other = Share(run), Share(again(run), leads=False)
    assert share.claim() is not None
    run.groups.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert share.claim() is None
    assert other.claim() is not None


def test_a_leader_waits_for_what_a_helper_holds(settings) -> None:
    endpoint = Endpoint()
    with answering(settings, endpoint.answer):
        run = claimed_run(5)
        helper = Share(again(run), leads=False)
        group = helper.claim()
        assert group is not None
        DEBATES.drive(run, seconds=0.5)
        assert (again(run).status, endpoint.asked) == (RunStatus.QUEUED, 0)  # its time was up
        helper.let_go()
        run_debates(run.pk)
    assert (again(run).status, endpoint.asked) == (RunStatus.DONE, 10)


def test_who_finds_no_free_group_goes_away_at_once_and_is_told_of_none(settings) -> None:
    with answering(settings, turn("no")) as stub:
        run = claimed_run(5)
        assert list(due_runs()) == [(DebateRun, run.pk, True, 1)]
        Share(again(run), leads=False).claim()
        assert list(due_runs()) == []
        run_debates(run.pk)
        assert stub.asked == []
    assert again(run).fence == 1


def test_a_helper_whose_leader_died_leads(settings) -> None:
    endpoint = Endpoint()
    with answering(settings, endpoint.answer):
        run = claimed_run(10)

        def lose_the_leader() -> None:
            wait_until(lambda: endpoint.asked)
            gone = timezone.now() - timedelta(seconds=1)
            DebateRun.objects.update(lease_until=gone)

        helper = threading.Thread(target=lambda: (run_debates(run.pk), connection.close()))
        helper.start()
        lose_the_leader()
        helper.join(240)
    assert (again(run).status, again(run).done, again(run).fence) == (RunStatus.DONE, 10, 2)


@pytest.mark.slow
def test_failed_pairs_are_found_again_in_groups_that_were_done(settings) -> None:
    with answering(settings, turn("no")):
        run = claimed_run(11)
        without_text = Passage.objects.filter(pid__in=["p03", "p04", "p10"])
        without_text.update(text=None)
        DEBATES.drive(run)
        assert (again(run).status, run.debates.filter(status="failed").count()) == ("done", 3)
        without_text.update(text="Moths.")
        retry_failed(run=again(run), actor=admin_of(run))
        run_debates(run.pk)
    assert (again(run).status, again(run).done) == (RunStatus.DONE, 11)
    assert set(run.debates.values_list("status", flat=True)) == {"agreed"}
    assert RunGroup.objects.count() == 3


def test_answers_are_shared_the_same_way() -> None:
    room = make_room()
    with endpoints.practice_if_unconfigured() as practice:
        run = start_answers(
            benchmark=room.benchmark,
            queries=candidates(room.benchmark),
            endpoint=practice,
            actor=room.admin,
            claimed=True,
        )
        cut(run)
        ANSWERS.drive(AnswerRun.objects.get(pk=run.pk), leads=False)
        assert (AnswerRun.objects.get().status, AnswerRun.objects.get().done) == ("running", 2)
        ANSWERS.drive(run)
    assert AnswerRun.objects.get().status == "done"
