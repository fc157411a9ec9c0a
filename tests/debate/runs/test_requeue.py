"""Trying one pair again, or one kind of failure; and what is left of a drive that is stopped."""

import threading
from typing import Any

import pytest
from django.db import connection

from debate.models import Debate, DebateRun, Turn
from debate.runs.services import requeue_failures, requeue_pair, start_run
from debate.tasks import DEBATES, run_debates
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus, stopping
from llm import endpoints
from llm.models import Call
from tests.debate.answering import answering, turn
from tests.factories import make_passage, make_pool, make_query
from tests.llm.stub import after, page, status
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes are written at once, and what failed is tried again soon."""
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    monkeypatch.setattr("llm.limits.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("llm.limits.LONGEST_WAIT_S", 0.05)


def run_of(benchmark: Any, count: int, in_flight: int = 1) -> DebateRun:
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(count)]
    start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *pairs),
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=True,
    )
    DebateRun.objects.update(calls_in_flight=in_flight)
    return DebateRun.objects.get()


def failed_run(benchmark: Any, settings: Any) -> DebateRun:
    """Four pairs: two refused, of which one is told of as rubbish; one agreed; one without text."""
    with answering(settings, *[status(400), status(422)] * 2, turn("no")):
        run = run_of(benchmark, 3)
        passage = make_passage(benchmark, "p99", text=None)
        Debate.objects.create(run=run, query=run.debates.first().query, passage=passage)
        DEBATES.drive(run)
    Debate.objects.filter(passage__pid="p01").update(error_class="bad_answer")
    run.refresh_from_db()
    assert run.status == RunStatus.DONE
    return run


def classes(run: DebateRun) -> dict[str, str]:
    return dict(run.debates.order_by("pk").values_list("passage__pid", "error_class"))


def test_failures_are_told_apart_by_class(benchmark, settings) -> None:
    run = failed_run(benchmark, settings)
    assert classes(run) == {"p00": "refused", "p01": "bad_answer", "p02": "", "p99": "no_text"}


@pytest.mark.few
@pytest.mark.parametrize(
    ("fault", "kind"),
    [(page("<html>"), "bad_answer"), (status(500), "server"), (status(400), "refused")],
    ids=["a proxy's page", "trouble there", "refused"],
)
def test_class_of_a_failure_is_kept_with_its_pair(benchmark, settings, fault, kind) -> None:
    with answering(settings, fault):
        run = run_of(benchmark, 1)
        DEBATES.drive(run)
    assert classes(run) == {"p00": kind}


def test_one_class_is_debated_again_and_no_other(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings)
    assert requeue_failures(run=run, error_class="bad_answer", actor=admin) == 1
    assert (run.status, run.done) == (RunStatus.QUEUED, 3)
    with answering(settings, turn("no")) as stub:
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done, len(stub.asked)) == (RunStatus.DONE, 4, 2)
    statuses = dict(run.debates.values_list("passage__pid", "status"))
    assert statuses == {"p00": "failed", "p01": "agreed", "p02": "agreed", "p99": "failed"}
    assert classes(run)["p01"] == ""
    event = Event.objects.get(verb="requeue debates")
    assert (event.actor, event.data) == (admin, {"error_class": "bad_answer", "pairs": 1})


def test_one_pair_is_debated_again_and_its_turns_are_replaced(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings)
    pair = run.debates.get(passage__pid="p00")
    assert pair.turns.count() == 2
    requeue_pair(run=run, debate=pair, actor=admin)
    assert Turn.objects.filter(debate=pair).count() == 0
    with answering(settings, turn("yes", "What stands")):
        run_debates(run.pk)
    pair.refresh_from_db()
    assert (pair.status, pair.label, pair.error) == ("agreed", 1, "")


def test_pair_of_a_paused_run_waits_with_the_others(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings)
    DebateRun.objects.update(status=RunStatus.PAUSED)
    requeue_pair(run=run, debate=run.debates.first(), actor=admin)
    run.refresh_from_db()
    assert (run.status, run.done, Debate.objects.waiting().count()) == (RunStatus.PAUSED, 3, 1)


@pytest.mark.parametrize("state", ["running", "cancelled"])
def test_nothing_is_requeued_under_a_worker_or_after_a_cancel(
    benchmark, admin, settings, state
) -> None:
    run = failed_run(benchmark, settings)
    DebateRun.objects.update(status=state)
    with pytest.raises(Refused, match=r"at work|cancelled"):
        requeue_failures(run=run, error_class="refused", actor=admin)
    assert Debate.objects.waiting().count() == 0


def test_outcome_that_was_paid_for_is_not_asked_for_again(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings)
    with pytest.raises(Refused, match="paid answers"):
        requeue_pair(run=run, debate=run.debates.get(status="agreed"), actor=admin)
    with pytest.raises(Refused, match="No pair"):
        requeue_failures(run=run, error_class="timeout", actor=admin)
    run.refresh_from_db()
    assert run.status == RunStatus.DONE


def test_stopped_drive_stores_what_was_on_its_way(benchmark, settings, monkeypatch) -> None:
    """Told to end while calls are in flight and outcomes in hand, it loses neither."""
    # A group that would wait for ever: what is in hand is written because the drive ends.
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 600)
    with answering(settings, after(0.3, turn("no"))) as stub:
        run = run_of(benchmark, 40, in_flight=4)

        def stop() -> None:
            wait_until(lambda: len(stub.asked) >= 10, saw=lambda: len(stub.asked))
            stopping.set()
            connection.close()

        stopper = threading.Thread(target=stop)
        stopper.start()
        try:
            DEBATES.drive(run)
        finally:
            stopper.join()
            stopping.clear()
    run.refresh_from_db()
    answered = Call.objects.filter(status="answered").count()
    assert run.status == RunStatus.QUEUED
    assert set(Call.objects.values_list("status", flat=True)) == {"answered"}
    assert answered == len(stub.asked) >= 10
    # Of 2 x 4 debates under way at once each may have one of its two answers.
    assert run.done == Debate.objects.filter(status="agreed").count()
    assert answered - 8 <= 2 * run.done <= answered
