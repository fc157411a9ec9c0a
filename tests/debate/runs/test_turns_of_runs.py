"""Runs take turns in a worker: for a while each, and only so many at once."""

import threading

import pytest
from django.db import connection

from debate.models import Debate, DebateRun
from debate.runs.services import start_run
from debate.tasks import run_debates
from kit.runs.models import RunStatus
from kit.runs.polling import due_runs
from llm import endpoints
from llm.practice.server import serve
from tests.factories import make_benchmark, make_passage, make_pool, make_query
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _slow_endpoint(settings):
    with serve(latency_ms=60) as url:
        settings.ASSAY_PRACTICE_URL = url
        yield


def make_run(count: int, slug: str = "demo") -> DebateRun:
    benchmark = make_benchmark(slug)
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(count)]
    pool = make_pool(benchmark, *pairs)
    run = start_run(benchmark=benchmark, pool=pool, endpoint=endpoints.get("practice"), actor=None)
    DebateRun.objects.filter(pk=run.pk).update(calls_in_flight=1)
    return run


def drive_elsewhere(run: DebateRun) -> None:
    """As a thread of a worker does."""
    try:
        run_debates(run.pk)
    finally:
        connection.close()


def test_run_whose_time_is_up_is_due_again_and_loses_nothing(settings) -> None:
    run = make_run(12)
    for seconds in (0.3, 1, 3, 10):  # where much else runs, the first may end before any debate
        settings.ASSAY_PUMP_SECONDS = seconds
        run_debates(run.pk)
        run.refresh_from_db()
        assert (run.status, run.lease_until) == (RunStatus.QUEUED, None)
        if run.done:
            break
    assert 0 < run.done == 12 - Debate.objects.waiting().count() < 12
    settings.ASSAY_PUMP_SECONDS = 60
    run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.DONE, 12)


def test_run_that_had_a_turn_stands_behind_those_that_wait(settings) -> None:
    first, second = make_run(12, "first"), make_run(12, "second")
    settings.ASSAY_PUMP_SECONDS = 0.1
    run_debates(first.pk)
    assert [pk for _, pk, *_ in due_runs()] == [second.pk, first.pk]


@pytest.mark.slow
def test_one_run_too_many_stays_due_and_leaves_its_thread_free(settings) -> None:
    runs = [make_run(12, f"b{n}") for n in range(settings.ASSAY_RUNS_AT_ONCE + 1)]
    drives = [threading.Thread(target=drive_elsewhere, args=[run]) for run in runs[:-1]]
    for drive in drives:
        drive.start()
    running = DebateRun.objects.filter(status=RunStatus.RUNNING)
    wait_until(lambda: running.count() >= len(drives), saw=running.count)
    run_debates(runs[-1].pk)
    runs[-1].refresh_from_db()
    assert (runs[-1].status, runs[-1].fence) == (RunStatus.QUEUED, 0)
    for drive in drives:
        drive.join(60)
    run_debates(runs[-1].pk)
    assert set(DebateRun.objects.values_list("status", flat=True)) == {RunStatus.DONE}
