"""A drive that goes on settles the calls of workers that die meanwhile, and frees their money."""

import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corpus.services import computing
from llm import lost_calls
from llm.lost import UNSENT
from llm.models import Account, to_units
from tests.chaos.sql import Database
from tests.corpus.cleaning import clean, make_corpus
from tests.corpus.scripted import cleaner
from tests.llm.dying import die_before_sending
from tests.services.processes import database_url, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def account(settings, tmp_path: Path) -> Account:
    """Of another run, whose worker is about to die."""
    settings.HANDOVER = tmp_path / "handover"
    return Account.objects.create(name="another run", limit_units=to_units(Decimal(10)))


class Dying:
    """The worker of that account, and how things stand with its calls by plain SQL."""

    def __init__(self, account: Account, folder: Path) -> None:
        self._account, self._folder, self._lock = account.pk, folder, threading.Lock()
        self._is_dead = False
        self.before: set[tuple[Any, ...]] = set()
        self.reserved_before = self.reserved_after = 0

    def die(self) -> None:
        """Once, and with its calls written down; whoever comes meanwhile waits."""
        with self._lock:
            if not self._is_dead:
                die_before_sending(self._account, self._folder)
                self._is_dead, self.before = True, self.calls()
                assert self.before, "it began no calls"
                self.reserved_before = self.reserved()

    def afterwards(self, look: Callable[[], int]) -> int:
        """What a look finds, but not between the death and our writing down how things stand."""
        with self._lock:
            return look()

    def calls(self) -> set[tuple[Any, ...]]:
        """States and errors."""
        return set(self._rows("SELECT status, error FROM llm_call WHERE account_id = ?"))

    def reserved(self) -> int:
        """What nobody can spend because of them."""
        rows = self._rows("SELECT reserved_units FROM llm_account WHERE id = ?")
        return int(rows[0][0])

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        database = Database(database_url())
        try:
            return database.rows(sql, self._account)
        finally:
            database.close()


def check(dying: Dying) -> None:
    assert dying.before == {("intent", "")}
    assert dying.reserved_before > dying.reserved_after == 0
    assert dying.calls() == {("failed", UNSENT)}


def test_a_cleaning_that_goes_on_frees_what_a_dead_worker_reserved(
    account, settings, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("llm.lost_calls.LOOK_EVERY_S", 0.1)
    dying = Dying(account, tmp_path)
    looks = lost_calls.list_lost_calls
    monkeypatch.setattr("llm.lost_calls.list_lost_calls", lambda: dying.afterwards(looks))

    def answer_afterwards(role: str, text: str) -> str:
        """No page is done before the calls are settled: only the drive itself can have looked."""
        dying.die()
        wait_until(lambda: dying.calls() != dying.before, saw=dying.calls)
        dying.reserved_after = dying.reserved()
        return text

    with cleaner(settings, answer_afterwards) as server:
        run = clean(make_corpus(), server.endpoint)
    assert (run.status, run.error) == ("done", "")
    check(dying)


def test_a_computation_that_goes_on_does_so_too(account, settings, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("llm.lost_calls.LOOK_EVERY_S", 0)
    monkeypatch.setattr("corpus.services.computing_vectors._GROUP", 1)
    monkeypatch.setattr("corpus.services.computing_vectors.BATCH", 1)
    settings.INDEXES = tmp_path / "indexes"
    dying, asked = Dying(account, tmp_path), []

    def note(role: str, text: str) -> str:
        asked.append(dying.calls())
        if len(asked) == 2:
            dying.die()
            asked[-1] = dying.calls()
        dying.reserved_after = dying.reserved()
        return text

    with cleaner(settings, note):
        computation = computing.start(
            benchmark=make_corpus(), method="embeddings", actor=None, claimed=True
        )
        computing.carry_out(computation)
    computation.refresh_from_db()
    assert (computation.status, computation.error) == ("done", "")
    # At the second text it died; at the third its calls were settled.
    assert asked[:3] == [set(), {("intent", "")}, {("failed", UNSENT)}]
    check(dying)
