"""Tracked runs, tried on debate runs: the row is the truth, whoever delivers what how often."""

from datetime import timedelta

import pytest
from django.utils import timezone

from debate.models import DebateRun
from kit.runs.models import MOVES, LostLease, RunStatus
from kit.runs.polling import Poller, due_runs

pytestmark = pytest.mark.django_db


def again(run: DebateRun) -> DebateRun:
    return DebateRun.objects.get(pk=run.pk)


def test_only_one_of_two_claims_wins(run: DebateRun) -> None:
    other = again(run)
    assert run.claim()
    assert not other.claim()


def test_expired_lease_is_taken_over_and_the_first_worker_is_fenced_out(run: DebateRun) -> None:
    first, second = again(run), again(run)
    assert first.claim()
    DebateRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert second.claim()
    with pytest.raises(LostLease):
        first.beat(done=5)
    with pytest.raises(LostLease):
        first.finish()
    assert (again(run).status, again(run).done) == (RunStatus.RUNNING, 0)


def test_live_lease_is_not_taken_over(run: DebateRun) -> None:
    run.claim()
    assert not again(run).claim()


def test_cancelled_run_cannot_be_finished(run: DebateRun) -> None:
    run.claim()
    assert again(run).move(RunStatus.CANCELLED)
    with pytest.raises(LostLease):
        run.finish()
    assert again(run).status == RunStatus.CANCELLED


def test_released_run_is_due_again(run: DebateRun) -> None:
    run.claim()
    run.release()
    assert (DebateRun, run.pk, False, 1) in due_runs()


@pytest.mark.parametrize("source", RunStatus.values)
@pytest.mark.parametrize("target", RunStatus.values)
def test_moves_follow_the_table(run: DebateRun, source: str, target: str) -> None:
    DebateRun.objects.update(status=source)
    assert again(run).move(target) is (target in MOVES[source])
    assert again(run).status == (target if target in MOVES[source] else source)


@pytest.mark.parametrize("source", RunStatus.values)
def test_finished_run_is_queued_again_only_by_who_names_its_state(
    run: DebateRun, source: str
) -> None:
    DebateRun.objects.update(status=source)
    named = (RunStatus.DONE, RunStatus.FAILED)
    assert again(run).move(RunStatus.QUEUED, sources=named) is (source in named)
    DebateRun.objects.update(status=RunStatus.RUNNING)
    assert not again(run).move(RunStatus.QUEUED, sources=(RunStatus.RUNNING,))


def test_two_stale_objects_cannot_both_move(run: DebateRun) -> None:
    DebateRun.objects.update(status=RunStatus.PAUSED)
    first, second = again(run), again(run)
    assert first.move(RunStatus.QUEUED)
    assert not second.move(RunStatus.QUEUED)


def test_paused_and_finished_runs_are_not_due(run: DebateRun) -> None:
    for status in (RunStatus.PAUSED, RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED):
        DebateRun.objects.update(status=status)
        assert list(due_runs()) == []


def test_polling_sends_a_due_run_once_in_a_while(run: DebateRun, settings) -> None:
    poller = Poller()
    assert poller.poll() == 1
    assert poller.poll() == 0
