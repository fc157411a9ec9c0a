"""Debate runs with real workers and brokers: woken, unheard, told five times, killed, stopped."""

import random
import time

import pytest
from celery import current_app
from django.db.models import Count

from debate.models import DebateRun
from kit.runs.models import RunStatus
from llm.models import Call
from tests.services.conftest import start
from tests.services.pairs import (
    Result,
    calls_by_status,
    check_finished,
    is_over,
    make_pairs,
    result_of,
)
from tests.services.processes import Site, Worker, wait_until

pytestmark = pytest.mark.services

SHORT_LEASE_S = 2.0
NEVER_S = 3600.0  # a sweep that will not happen within the test
# For what does not hang on how a broker keeps its messages.
ONE_BROKER = pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)


def calls_begun() -> int:
    return Call.objects.count()


def done_pairs(run: DebateRun) -> int:
    run.refresh_from_db()
    return run.done


def ready_workers(site: Site, *, count: int = 1, sweep_s: float = 1.0) -> list[Worker]:
    workers = [site.start_worker(sweep_s=sweep_s) for _ in range(count)]
    for worker in workers:
        worker.wait_ready()
    return workers


def test_the_broker_wakes_a_worker_long_before_the_sweep(brokered: Site, expected: Result) -> None:
    (worker,) = ready_workers(brokered, sweep_s=NEVER_S)
    pool = make_pairs(150)
    run = start(pool)
    wait_until(lambda: is_over(run))
    check_finished(run, expected)
    assert calls_by_status() == {"answered": len(expected.answered)}
    assert "Traceback" not in worker.said


def test_a_run_whose_every_message_was_lost_is_found(brokered: Site, expected: Result) -> None:
    run = start(make_pairs(150))
    with current_app.connection_for_write() as link:
        assert link.default_channel.queue_purge(brokered.queue) == 1
    ready_workers(brokered, sweep_s=1.0)
    wait_until(lambda: is_over(run))
    check_finished(run, expected)


def test_five_deliveries_do_nothing_twice(brokered: Site, expected: Result) -> None:
    workers = ready_workers(brokered, count=2, sweep_s=NEVER_S)
    run = start(make_pairs(150))
    for _ in range(4):
        current_app.send_task(run.task_name, args=[run.pk])
    wait_until(lambda: calls_begun() > 50)
    for _ in range(5):  # and in the middle
        current_app.send_task(run.task_name, args=[run.pk])
    wait_until(lambda: is_over(run))
    for _ in range(5):  # and afterwards
        current_app.send_task(run.task_name, args=[run.pk])
    received = f"Task {run.task_name}["
    wait_until(lambda: sum(w.said.count(received) for w in workers) >= 2 * 15)
    check_finished(run, expected)
    assert run.fence == 1
    assert calls_by_status() == {"answered": len(expected.answered)}


@ONE_BROKER
def test_a_run_survives_every_kill(brokered: Site, expected: Result) -> None:
    rng = random.Random(7)
    brokered.lease_s = SHORT_LEASE_S
    worker = ready_workers(brokered)[0]
    run = start(make_pairs(150))
    for moment in (1, 120, 280):
        wait_until(lambda moment=moment: calls_begun() >= moment)
        time.sleep(rng.uniform(0, 0.05))
        standby = brokered.start_worker()
        worker.kill()
        run.refresh_from_db()
        assert run.status == RunStatus.RUNNING  # nobody had time to say goodbye
        worker = standby
    wait_until(lambda: is_over(run))
    check_finished(run, expected)
    check_lost(run)


def check_lost(run: DebateRun) -> None:
    """Only calls without an answer are open, no more than were under way at each takeover.

    Only they were asked again.
    """
    kills, in_flight = run.fence - 1, run.calls_in_flight
    counts = calls_by_status()
    assert set(counts) <= {"answered", "intent", "possibly_paid"}
    assert counts["intent"] + counts["possibly_paid"] <= kills * 4 * in_flight
    again = Call.objects.values("key").annotate(tries=Count("pk")).filter(tries__gt=1)
    lost = Call.objects.exclude(status="answered").values("key")
    assert not again.exclude(key__in=lost).exists()
    assert again.count() <= counts["intent"] + counts["possibly_paid"]


@ONE_BROKER
def test_a_worker_asked_to_stop_gives_its_run_back(
    brokered: Site, expected: Result, settings
) -> None:
    (worker,) = ready_workers(brokered)
    # Two calls at a time: from the first stored pairs to the last there are some seconds.
    settings.ASSAY_CALLS_IN_FLIGHT = 2
    run = start(make_pairs(150))
    wait_until(lambda: done_pairs(run) > 0)
    worker.stop()
    run.refresh_from_db()
    assert (run.status, run.lease_until) == (RunStatus.QUEUED, None)
    assert 0 < run.done < run.total
    assert set(calls_by_status()) <= {"answered", "possibly_paid", "failed"}
    ready_workers(brokered)
    wait_until(lambda: is_over(run))
    check_finished(run, expected)


@ONE_BROKER
def test_two_runs_over_the_same_pairs_at_once(brokered: Site, expected: Result) -> None:
    ready_workers(brokered, count=2)
    pool = make_pairs(150)
    runs = [start(pool), start(pool)]
    for run in runs:
        wait_until(lambda run=run: is_over(run))
        assert (run.status, run.error) == (RunStatus.DONE, "")
        assert result_of(run).debates == expected.debates
    assert result_of(runs[0]).cases == expected.cases  # nobody is asked twice
