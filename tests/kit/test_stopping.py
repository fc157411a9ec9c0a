"""A worker that is asked to end gives back whatever it holds, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import transaction

from annotate.tasks import import_benchmark
from corpus.benchmarks.services import create_benchmark
from corpus.importers.formats import FORMATS, Format
from corpus.imports.services import queue_import
from corpus.models import ImportRun, Passage
from debate.models import DebateRun
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import LostLease, RunStatus, Stopping, give_back, stopping
from tests.corpus.import_files import bright_pro, one_by_one
from tests.factories import make_benchmark, make_pool
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _stays_alive():
    yield
    stopping.clear()
    give_back()


@pytest.fixture
def run() -> DebateRun:
    benchmark = make_benchmark()
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=make_pool(benchmark), name="r", endpoint="practice", model="m"
    )
    assert run.claim()
    return run


def again(run: DebateRun) -> DebateRun:
    return DebateRun.objects.get(pk=run.pk)


def test_heartbeat_ends_the_work_and_the_run_is_given_back(run: DebateRun) -> None:
    stopping.set()
    with pytest.raises(Stopping), transaction.atomic():
        run.beat(done=3)
    assert again(run).status == RunStatus.RUNNING  # until the task has cleaned up
    give_back()
    assert (again(run).status, again(run).done, again(run).lease_until) == ("queued", 0, None)


def test_run_that_ended_in_time_is_left_as_it_is(run: DebateRun) -> None:
    stopping.set()
    run.finish()
    give_back()
    assert again(run).status == RunStatus.DONE


def test_run_of_another_worker_is_left_to_it(run: DebateRun) -> None:
    DebateRun.objects.update(fence=7)
    stopping.set()
    give_back()
    assert again(run).status == RunStatus.RUNNING


def test_worker_that_goes_on_gives_nothing_back(run: DebateRun) -> None:
    give_back()
    assert again(run).status == RunStatus.RUNNING
    stopping.set()
    give_back()  # the claim belonged to a task that is over
    assert again(run).status == RunStatus.RUNNING


def test_release_stops_at_its_next_step(run: DebateRun) -> None:
    with Heartbeat(run, every=0.01) as heartbeat:
        stopping.set()
        with pytest.raises(LostLease):
            wait_until(
                lambda: heartbeat.step(1, 500), saw=lambda: again(run).status
            )  # it never holds
    give_back()
    assert again(run).status == RunStatus.QUEUED


def test_import_is_given_back_in_the_middle_and_done_by_the_next_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before_rows(monkeypatch, stopping.set)
    benchmark = create_benchmark(name="Light", slug="light", actor=None)
    folder = bright_pro(tmp_path)
    asked = queue_import(benchmark=benchmark, actor=None, format="bright_pro", path=folder)
    import_benchmark(asked.pk)
    give_back()
    stopped = ImportRun.objects.get()
    assert (stopped.status, stopped.error, Passage.objects.count()) == ("queued", "", 0)
    stopping.clear()
    before_rows(monkeypatch, lambda: None)
    import_benchmark(asked.pk)
    assert (ImportRun.objects.get().status, Passage.objects.count()) == ("done", 3)


def before_rows(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something before each row that the Bright-Pro reader yields."""
    from corpus.importers.bright import read_bright_pro

    def read(path, *, qrels=None, meter=None):
        for row in one_by_one(read_bright_pro(path, meter)):
            act()
            yield row

    real = FORMATS["bright_pro"]
    monkeypatch.setitem(FORMATS, "bright_pro", Format(real.title, read, real.hint))
