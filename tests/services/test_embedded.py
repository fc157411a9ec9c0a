"""The embedded default (one file, no server): a worker that is killed is started again."""

from pathlib import Path

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.imports.services import queue_import
from corpus.models import ImportRun, Passage
from kit.runs.models import RunStatus
from llm.models import Call
from tests.corpus.import_files import PASSAGES, bright_pro
from tests.services.conftest import start, undisturbed
from tests.services.pairs import check_finished, is_over, make_pairs
from tests.services.processes import Site, wait_until

pytestmark = pytest.mark.slow

PAIRS = 60
PAGES = [{"id": pid, "content": text} for pid, text in PASSAGES.items()]


def test_a_run_survives_every_kill_without_a_broker(site: Site) -> None:
    expected = undisturbed(PAIRS)
    site.lease_s = 1.5
    run = start(make_pairs(PAIRS))
    worker = site.start_worker(sweep_s=0.25)
    for moment in (10, 90):
        wait_until(lambda moment=moment: Call.objects.count() >= moment)
        worker.kill()
        run.refresh_from_db()
        assert run.status == RunStatus.RUNNING
        worker = site.start_worker(sweep_s=0.25)
    wait_until(lambda: is_over(run))
    check_finished(run, expected)
    assert run.fence >= 3
    assert not Call.objects.filter(status="failed").exists()


def test_a_worker_asked_to_stop_gives_its_import_back(site: Site, tmp_path: Path) -> None:
    more = [{"id": f"more/{n}.txt", "content": f"Text {n}. " * 20} for n in range(60_000)]
    folder = bright_pro(tmp_path / "folder", documents=[*PAGES, *more])
    benchmark = create_benchmark(name="Light", slug="light", actor=None)
    queue_import(benchmark=benchmark, actor=None, format="bright_pro", path=folder)
    worker = site.start_worker(sweep_s=0.25)
    wait_until(lambda: Passage.objects.exists())
    worker.stop()
    run = ImportRun.objects.get()
    assert (run.status, run.lease_until) == (RunStatus.QUEUED, None)
    assert not Passage.objects.exists()
    assert "Traceback" not in worker.said
    site.start_worker(sweep_s=0.25)
    wait_until(lambda: ImportRun.objects.get().is_over)
    assert (ImportRun.objects.get().status, Passage.objects.count()) == (RunStatus.DONE, 60_003)
