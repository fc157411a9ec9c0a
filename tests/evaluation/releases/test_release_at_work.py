"""A build as a worker does it: outside any transaction, with its own beats."""

from pathlib import Path

import pytest

from evaluation.models import Release
from evaluation.releases.services import start_here
from evaluation.tasks import build_release
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import LostLease, RunStatus
from tests.evaluation.conftest import make_garden
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def release(transactional_db, tmp_path: Path) -> Release:
    return start_here(benchmark=make_garden().benchmark, version="0.1.0", folder=tmp_path / "out")


def test_worker_builds_what_is_due(release: Release) -> None:
    Release.objects.update(status=RunStatus.QUEUED)
    build_release(release.pk)
    release.refresh_from_db()
    assert (release.status, release.done, release.total) == (RunStatus.DONE, 6, 6)
    assert Path(release.folder, "README.md").exists()


def test_pulse_stores_progress_and_renews_the_lease(release: Release) -> None:
    before = release.lease_until
    with Heartbeat(release, every=0.02) as heartbeat:
        heartbeat.step(3, 9)
        wait_until(lambda: Release.objects.get().lease_until > before, saw=lambda: before)
    stored = Release.objects.get()
    assert (stored.done, stored.total) == (3, 9)


def test_pulse_tells_that_the_run_was_stopped(release: Release) -> None:
    Release.objects.get().move(RunStatus.CANCELLED)
    with Heartbeat(release, every=0.02) as heartbeat, pytest.raises(LostLease):
        wait_until(lambda: heartbeat.step(1, 9), saw=Release.objects.get)  # it never holds
