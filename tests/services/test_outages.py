"""A broker or a database that goes away for a while costs time, not work."""

from urllib.parse import urlsplit

import psycopg
import pytest
from celery import current_app
from django.db import connection

from llm.models import Call
from tests.services.conftest import start
from tests.services.outage import Passage
from tests.services.pairs import Result, check_finished, is_over, make_pairs
from tests.services.processes import Site, database_url, wait_until

pytestmark = pytest.mark.services


@pytest.fixture
def way(broker: str):
    """The only way to the broker; overrides nothing but its address."""
    passage = Passage(broker)
    yield passage
    passage.close()


def test_a_run_started_while_the_broker_is_away_is_found_later(
    brokered: Site, way: Passage, expected: Result, settings
) -> None:
    brokered.broker = settings.BROKER_URL = current_app.conf.broker_url = way.url
    worker = brokered.start_worker(sweep_s=0.3)
    worker.wait_ready()
    way.close()
    run = start(make_pairs(150))  # and the person who started it sees no error
    wait_until(lambda: "poll: no look" in worker.said)
    way.open()
    wait_until(lambda: is_over(run))
    check_finished(run, expected)


def test_a_database_that_drops_every_connection_delays_a_run_and_no_more(
    site: Site, expected: Result
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")
    site.lease_s = 2.0
    worker = site.start_worker(sweep_s=0.3)
    run = start(make_pairs(150))
    wait_until(lambda: Call.objects.count() >= 20)
    # First the one that renews the lease, while the others could still call the run failed.
    wait_until(lambda: drop_connections('UPDATE "debate_debaterun"%'))
    wait_until(lambda: Call.objects.count() >= 200)
    drop_connections("%")
    wait_until(lambda: is_over(run))
    check_finished(run, expected)
    assert worker.process.poll() is None


def test_a_database_that_lets_nobody_in_for_a_while_delays_a_run_and_no_more(
    site: Site, expected: Result
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")
    site.lease_s = 2.0
    worker = site.start_worker(sweep_s=0.3)
    run = start(make_pairs(150))
    wait_until(lambda: Call.objects.count() >= 60)
    let_in(False)
    try:
        drop_connections("%")
        wait_until(lambda: "poll: no look" in worker.said)
    finally:
        let_in(True)
    wait_until(lambda: is_over(run))
    check_finished(run, expected)
    assert worker.process.poll() is None


def let_in(does: bool) -> None:
    """Whether anybody may connect, as while a server restarts; this test's connection stays."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    elsewhere = urlsplit(database_url())._replace(path="/postgres").geturl()
    with psycopg.connect(elsewhere, autocommit=True) as link:
        link.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {str(does).lower()}")


def drop_connections(last_query: str) -> int:
    """As a restart of the server does, for everybody but this test; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s "
            "AND datname = current_database() AND pid <> pg_backend_pid()",
            [last_query],
        )
        return cursor.rowcount
