"""A database that is locked in the middle of a run: the run waits and goes on, nothing is lost."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from django.db import InternalError, OperationalError, connection, connections

from corpus.models import Judgment
from debate.models import Debate, DebateRun
from debate.runs.services import start_run
from debate.tasks import DEBATES, run_debates
from kit.runs.driving import _is_outage
from kit.runs.models import RunGroup, RunStatus
from llm import endpoints
from llm.ledger.writing import list_lost_calls
from llm.models import Call
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_passage, make_pool, make_query
from tests.llm.stub import completion

pytestmark = pytest.mark.django_db(transaction=True)
PAIRS = 12


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A lock is given up after a tenth of a second instead of twenty."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL is tried in tests/services/test_outages.py")
    monkeypatch.setattr("llm.ledger.writing._TRY_AGAIN_S", 0.02)
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    monkeypatch.setattr("llm.pump._GRACE_S", 0.2)
    monkeypatch.setitem(connections["default"].settings_dict["OPTIONS"], "timeout", 0.1)
    connection.close()
    yield
    connection.close()


class Lock:
    """Somebody else who holds the database for writing, from the n-th request on."""

    def __init__(self, at: int) -> None:
        self._at, self._asked = at, 0
        self._held: sqlite3.Connection | None = None
        self._guard = threading.Lock()

    async def answer(self) -> web.StreamResponse:
        """An agreed answer; the lock is taken before it goes out."""
        with self._guard:
            self._asked += 1
            if self._asked == self._at:
                name = connection.settings_dict["NAME"]
                self._held = sqlite3.connect(name, timeout=20, check_same_thread=False)
                self._held.execute("BEGIN IMMEDIATE")
        return web.json_response(completion(turn("no")))

    @contextmanager
    def over(self, run: DebateRun) -> Iterator[None]:
        """Let go at the end."""
        yield
        assert self._held is not None, f"run {run.pk} asked {self._asked} times only"
        self._held.close()


def made_run() -> DebateRun:
    benchmark = make_benchmark()
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(PAIRS)]
    run = start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *pairs),
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=True,
    )
    run.calls_in_flight = 2
    run.save(update_fields=["calls_in_flight"])
    return run


@pytest.mark.parametrize(
    "at", [5, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2 * PAIRS))]
)
def test_a_locked_database_delays_a_run_and_no_more(settings: Any, at: int) -> None:
    lock = Lock(at)
    with answering(settings, lock.answer):
        run = made_run()
        with lock.over(run):
            DEBATES.drive(run)
        run.refresh_from_db()
        # Nobody could write down that it stopped: it is taken up when its lease is over.
        assert run.status == RunStatus.RUNNING
        for leased in (DebateRun, RunGroup):
            leased.objects.update(lease_until="2001-01-01T00:00:00Z")
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done, run.error) == (RunStatus.DONE, PAIRS, "")
    assert set(Debate.objects.values_list("status", "label")) == {("agreed", 0)}
    assert Judgment.objects.count() == PAIRS
    list_lost_calls(older_than=timedelta(0))
    calls = Call.objects.values_list("key", "status")
    answered = [key for key, status in calls if status == "answered"]
    assert (len(answered), len(set(answered))) == (2 * PAIRS, 2 * PAIRS)
    # What could not be written down is listed, and nothing else was paid.
    assert {status for _, status in calls} <= {"answered", "possibly_paid", "failed"}
    assert lock._asked <= len(answered) + sum(status == "possibly_paid" for _, status in calls)


def test_a_group_with_one_outage_is_an_outage() -> None:
    away, ours = OperationalError("server closed the connection"), ZeroDivisionError()
    assert _is_outage(away)
    assert _is_outage(BaseExceptionGroup("", [ours, BaseExceptionGroup("", [away])]))
    assert not _is_outage(BaseExceptionGroup("", [ours]))
    behind = InternalError("current transaction is aborted")
    behind.__context__ = away
    assert _is_outage(behind)
    assert not _is_outage(InternalError("out of range"))
