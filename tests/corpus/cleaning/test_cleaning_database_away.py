"""A database that is locked in the middle of a cleaning: it waits and goes on, nothing is lost."""

import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections

from corpus.cleaning.services import start_cleaning
from corpus.cleaning.tasks import clean_corpus, drive_claimed
from corpus.models import CleaningRun, CorpusVersion
from kit.runs.models import RunGroup, RunStatus
from llm.ledger.writing import list_lost_calls
from llm.models import Call
from tests.corpus.cleaning.rooms import make_corpus
from tests.corpus.scripted import cleaner

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A lock is given up after a tenth of a second instead of twenty."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL is tried in tests/services/test_outages.py")
    monkeypatch.setattr("llm.ledger.writing._TRY_AGAIN_S", 0.02)
    monkeypatch.setattr("llm.pump._GRACE_S", 0.2)
    monkeypatch.setitem(connections["default"].settings_dict["OPTIONS"], "timeout", 0.1)
    connection.close()
    yield
    connection.close()


def test_a_locked_database_delays_a_cleaning_and_no_more(settings: Any) -> None:
    held: list[sqlite3.Connection] = []
    guard = threading.Lock()

    def lock_at_first(role: str, text: str) -> str:
        with guard:
            if not held:
                name = connection.settings_dict["NAME"]
                held.append(sqlite3.connect(name, timeout=20, check_same_thread=False))
                held[0].execute("BEGIN IMMEDIATE")
        return text

    with cleaner(settings, lock_at_first) as server:
        benchmark = make_corpus()
        run = start_cleaning(
            benchmark=benchmark,
            source=CorpusVersion.objects.current(benchmark),
            preset="marcus",
            endpoint=server.endpoint,
            actor=None,
            claimed=True,
        )
        drive_claimed(run)
        held[0].close()
        run.refresh_from_db()
        # Nobody could write down that it stopped: it is taken up when its lease is over.
        assert run.status == RunStatus.RUNNING
        for rows in (CleaningRun.objects, RunGroup.objects.filter(status=RunStatus.RUNNING)):
            rows.update(lease_until="2001-01-01T00:00:00Z")
        clean_corpus(run.pk)
        run.refresh_from_db()
    assert (run.status, run.error) == (RunStatus.DONE, "")
    list_lost_calls(older_than=timedelta(0))
    statuses = list(Call.objects.values_list("status", flat=True))
    # What could not be written down is listed, and nothing else was paid.
    assert set(statuses) <= {"answered", "possibly_paid", "failed"}
    paid = statuses.count("answered") + statuses.count("possibly_paid")
    assert sum(server.asked.values()) <= paid
