"""Waking workers where the broker is away, and a worker that is about to end."""

from collections.abc import Iterator

import pytest
from celery import Celery

from config.celery import app as own_app
from debate.models import DebateRun
from kit.runs.models import RunGroup, stopping, wake
from kit.runs.polling import Poller
from tests.bench.server import free_port
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nobody_at_the_broker(settings) -> Iterator[Celery]:
    settings.BROKER_URL = f"redis://127.0.0.1:{free_port()}/0"
    app = Celery("elsewhere", broker=settings.BROKER_URL, set_as_current=False)
    app.set_current()
    yield app
    own_app.set_current()
    app.close()


@pytest.mark.usefixtures("nobody_at_the_broker")
def test_a_start_does_not_fail_because_the_broker_is_away(run: DebateRun, caplog) -> None:
    wake(run)
    assert "left to polling" in caplog.text


@pytest.mark.usefixtures("nobody_at_the_broker")
def test_nobody_is_told_of_a_part_of_a_run(run: DebateRun, caplog) -> None:
    """A group given back by a worker that ends: it has no task that a message could name."""
    wake(RunGroup(pk=run.pk))
    assert not caplog.text


def test_polling_goes_on_looking_while_the_broker_is_away(
    run: DebateRun, nobody_at_the_broker: Celery, settings
) -> None:
    settings.ASSAY_SWEEP_SECONDS = 0.02
    looks: list[int] = []

    class Counting(Poller):
        def poll(self) -> int:
            nobody_at_the_broker.set_current()  # in this thread too
            looks.append(1)
            return super().poll()

    poller = Counting()
    poller.start()
    wait_until(lambda: len(looks) > 1 or not poller.is_alive(), saw=lambda: looks)
    assert poller.is_alive()
    poller.stop()
    poller.join(240)
    assert not poller.is_alive()


def test_a_worker_that_is_ending_takes_nothing_new(run: DebateRun) -> None:
    stopping.set()
    try:
        assert not run.claim()
    finally:
        stopping.clear()
    assert run.claim()
