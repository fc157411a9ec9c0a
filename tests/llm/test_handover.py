"""Marks of what was handed to the transport, and what they spare an operator."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from llm import accounts, handover, ledger
from llm.handover import Handover, reading
from llm.lost import Settled, settle_lost
from llm.models import Account, Call, to_units
from llm.records import Charge, Intent
from tests.llm.stub import ask
from tests.services.processes import ROOT

BOUND = Decimal("0.25")
HOUR = timedelta(hours=1)
KILLED = """
import os, signal, sys
from django.conf import settings
settings.configure(HANDOVER=sys.argv[1])
from llm.handover import Handover
marks = Handover("host:1").open()
for call in (3, 5, 8):
    marks.mark(call)
print(marks.owner, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path) -> Path:
    settings.HANDOVER = tmp_path / "handover"
    return settings.HANDOVER


@pytest.fixture
def worker() -> Iterator[Handover]:
    """A living worker."""
    opened = Handover("host:1").open()
    yield opened
    opened.close()


@pytest.fixture
def account(db) -> Account:
    return Account.objects.create(name="run", limit_units=to_units(Decimal(10)))


def intend(worker: Handover, account: Account | None, *words: str) -> list[int]:
    charge = Charge(account_id=account.pk, bound=BOUND) if account else Charge()
    intents = [Intent(ask(word), "debate:1", charge=charge) for word in words]
    return [pk for pk in ledger.intend(intents, owner=worker.owner) if pk]


def settle(*, older_than: timedelta = HOUR) -> Settled:
    return settle_lost(older_than=timezone.now() - older_than)


def statuses(pks: list[int]) -> list[str]:
    rows = Call.objects.in_bulk(pks)
    return [rows[pk].status for pk in pks]


def marks(worker: Handover) -> tuple[bool, set[int]] | None:
    with reading(worker.token) as found:
        return found and (found.is_alive, set(found.call_ids))


def test_marks_outlive_a_killed_worker_and_tell_that_it_is_dead(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == -signal.SIGKILL
    with reading(handover.token_of(done.stdout.strip())) as found:
        assert found is not None
        assert (found.is_alive, found.call_ids) == (False, {3, 5, 8})


def test_a_living_worker_is_seen_to_live_until_it_closes(worker: Handover) -> None:
    worker.mark(7)
    assert marks(worker) == (True, {7})
    worker.close()
    assert marks(worker) == (False, {7})


def test_of_a_dead_worker_only_what_it_handed_over_is_listed(worker, account) -> None:
    sent, unsent, other = intend(worker, account, "a", "b", "c")
    for call in (sent, other):
        worker.mark(call)
    worker.close()
    assert settle() == Settled(listed=2, unsent=1)
    assert statuses([sent, unsent, other]) == ["possibly_paid", "failed", "possibly_paid"]
    account.refresh_from_db()
    assert account.reserved_usd == 2 * BOUND
    assert accounts.audit(account).reserved == account.reserved_units
    assert settle() == Settled()


def test_what_was_never_sent_is_sent_again_as_another_attempt(worker, db) -> None:
    (first,) = intend(worker, None, "a")
    worker.close()
    settle()
    (second,) = intend(worker, None, "a")
    assert [Call.objects.get(pk=pk).attempt for pk in (first, second)] == [1, 2]


def test_a_stopped_worker_keeps_what_it_has_yet_to_send(worker, account) -> None:
    sent, unsent = intend(worker, account, "a", "b")
    worker.mark(sent)
    Call.objects.update(created_at=timezone.now() - 2 * HOUR)
    assert settle() == Settled(listed=1)
    assert statuses([sent, unsent]) == ["possibly_paid", "intent"]


def test_calls_of_a_living_worker_are_left_alone_until_nobody_waits(worker, account) -> None:
    (sent,) = intend(worker, account, "a")
    worker.mark(sent)
    assert settle() == Settled()
    assert statuses([sent]) == ["intent"]


@pytest.mark.parametrize("first", ["another-boot\n", "\n", "\xff\n"])
def test_marks_of_another_machine_or_start_say_nothing(worker, account, folder, first) -> None:
    old, young = intend(worker, account, "a", "b")
    worker.close()
    (path,) = folder.iterdir()
    path.write_bytes(first.encode("latin-1") + path.read_bytes().partition(b"\n")[2])
    Call.objects.filter(pk=old).update(created_at=timezone.now() - 2 * HOUR)
    assert settle() == Settled(listed=1)
    assert statuses([old, young]) == ["possibly_paid", "intent"]


@pytest.mark.parametrize("owner", ["gone:1", "host:1:0123", "host:1:../../x", "host:1:", ""])
def test_without_marks_old_calls_are_listed(db, owner: str) -> None:
    (pk,) = ledger.intend([Intent(ask(), "debate:1")], owner=owner)
    assert settle() == Settled()
    assert settle(older_than=timedelta(0)) == Settled(listed=1)
    assert statuses([pk or 0]) == ["possibly_paid"]


def test_marks_beyond_a_chunk_are_kept(worker) -> None:
    count = 2 * handover._CHUNK // 8 + 3
    for call in range(1, count):
        worker.mark(call)
    assert marks(worker) == (True, set(range(1, count)))


def test_marks_that_cannot_be_written_are_given_up(worker, folder) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, worker._file)
    os.close(full)
    for call in range(1, handover._CHUNK // 8 + 2):
        worker.mark(call)
    assert marks(worker) is None
    worker.mark(3)  # and sending goes on


def test_a_folder_that_cannot_be_made_keeps_nobody_from_sending(settings, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    settings.HANDOVER = tmp_path / "file" / "handover"
    opened = Handover("host:1").open()
    opened.mark(1)
    assert marks(opened) is None


def test_files_of_dead_workers_are_removed_once_no_call_is_open(worker, db, folder) -> None:
    living = Handover("host:2").open()
    intend(worker, None, "a")
    worker.close()
    settle(older_than=timedelta(0))  # its call is settled, the file was needed for it
    assert len(list(folder.iterdir())) == 2
    settle(older_than=-HOUR)
    assert [path.stem for path in folder.iterdir()] == [living.token]
    living.close()
