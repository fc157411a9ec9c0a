"""An Assay of real processes on the test's own database."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from django.core.management import call_command
from django.db import connection
from kombu import Connection, Exchange, Queue

from config.celery import app as own_app
from corpus.models import Pool
from debate.models import DebateRun
from debate.runs.services import start_run
from debate.tasks import DEBATES
from llm import endpoints
from tests.services.pairs import Result, make_pairs, result_of
from tests.services.processes import Site, practice_process

BROKERS = {"rabbitmq": "ASSAY_TEST_RABBITMQ", "redis": "ASSAY_TEST_REDIS"}
_results: dict[int, Result] = {}


@pytest.fixture(scope="session")
def practice_url() -> Iterator[str]:
    """A practice model that takes its time, so that a run has a middle."""
    with practice_process(latency_ms=20) as url:
        yield url


@pytest.fixture
def site(tmp_path: Path, practice_url: str, transactional_db, settings) -> Iterator[Site]:
    """An Assay without a broker."""
    settings.BROKER_URL = ""
    settings.ASSAY_PRACTICE_URL = practice_url
    made = Site(tmp_path, practice_url)
    yield made
    made.close()


@pytest.fixture(params=BROKERS)
def broker(request) -> str:
    """The address of each broker in turn."""
    return address_of(request.param)


@pytest.fixture
def brokered(site: Site, broker: str, settings) -> Iterator[Site]:
    """An Assay on PostgreSQL with a broker; what this process starts is sent there too."""
    with_broker(site, broker)
    app = Celery("elsewhere", broker=broker, set_as_current=False)
    app.conf.task_default_queue = site.queue
    settings.BROKER_URL = broker
    app.set_current()
    yield site
    site.close()
    own_app.set_current()
    app.close()
    forget_queue(broker, site.queue)


@pytest.fixture
def expected(site: Site) -> Result:
    """What 150 pairs come to when nothing disturbs the run."""
    return undisturbed(150)


def address_of(name: str) -> str:
    """A broker's address; the tests of services skip without one, and without PostgreSQL."""
    url = os.environ.get(BROKERS[name], "")
    if not url or connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL and brokers: make test-services")
    return url


def with_broker(site: Site, url: str) -> None:
    """Use a queue that nobody else on that broker uses."""
    site.broker, site.queue = url, f"assay-{uuid.uuid4().hex[:12]}"


def forget_queue(broker: str, queue: str) -> None:
    """Leave nothing on the broker."""
    with Connection(broker) as link:
        exchange = Exchange(queue).bind(link.default_channel)
        ours = Queue(queue, exchange, routing_key=queue).bind(link.default_channel)
        ours.declare()  # Redis forgets only a binding that this connection knows
        ours.delete()
        exchange.delete()


def start(pool: Pool) -> DebateRun:
    """A run over the pool, as a view starts it."""
    endpoint = endpoints.available()[0]
    return start_run(benchmark=pool.benchmark, pool=pool, endpoint=endpoint, actor=None)


def undisturbed(count: int) -> Result:
    """The result of a run in this process; the database is empty again afterwards."""
    if count not in _results:
        pool = make_pairs(count)
        run = start_run(
            benchmark=pool.benchmark,
            pool=pool,
            endpoint=endpoints.available()[0],
            actor=None,
            claimed=True,
        )
        DEBATES.drive(run)
        _results[count] = result_of(run)
        assert len(_results[count].debates) == count
        call_command("flush", interactive=False, verbosity=0)
    return _results[count]
