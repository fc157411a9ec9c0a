"""Runs take turns in a worker: for a while each, and only so many at once."""

import threading

import pytest
from django.db import connection

from debate.models import Debate, DebateRun
from debate.runs.services import start_run
from debate.tasks import run_debates
from kit.runs import polling, turns
from kit.runs.models import RunStatus, give_back
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


def test_a_run_takes_one_of_its_workers_threads_and_gives_it_back(monkeypatch) -> None:
    run = make_run(2)
    monkeypatch.setattr(turns, "threads", 3)
    monkeypatch.setattr(turns, "_busy", {})
    run_debates(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.DONE
    # Its groups are taken by a thread of its own for the database.
    assert turns._busy == {threading.get_ident(): run.claimant}
    give_back()
    assert turns._busy == {}


def test_who_finds_no_thread_has_one_that_had_its_slice_end(monkeypatch, settings) -> None:
    run, settings.ASSAY_RUNS_AT_ONCE = make_run(1), 1
    monkeypatch.setattr(turns, "threads", 2)
    monkeypatch.setattr(turns, "_busy", {-1: run.claimant})
    with turns.place(turns.Claimant(("other", 1), "z", 1)) as turn:
        turn.since -= turns.SLICE_S
        run_debates(run.pk)
        assert turn.is_over
    run.refresh_from_db()
    assert (run.status, run.fence) == (RunStatus.QUEUED, 0)


def test_a_small_run_is_seen_behind_many_large_ones_of_its_kind(monkeypatch) -> None:
    monkeypatch.setattr(polling, "_MAX_ALIKE", 2)
    large = [make_run(1, f"large{n}") for n in range(2)]
    same = make_run(1, "large2")
    DebateRun.objects.update(total=1_000, benchmark=large[0].benchmark)
    small = make_run(1, "small")
    beside = make_run(1, "beside")
    DebateRun.objects.filter(pk=beside.pk).update(benchmark=large[0].benchmark)
    assert {pk for _, pk, *_ in due_runs()} == {*(each.pk for each in large), small.pk, beside.pk}
    DebateRun.objects.filter(pk=same.pk).update(priority=turns.Priority.HIGH)
    assert same.pk in {pk for _, pk, *_ in due_runs(shared=True)}


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
        drive.join(240)
    run_debates(runs[-1].pk)
    assert set(DebateRun.objects.values_list("status", flat=True)) == {RunStatus.DONE}
