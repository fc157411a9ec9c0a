"""The worker's way into cleaning runs."""

import contextlib
import math
import threading
import time
from collections.abc import Iterator

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from corpus.models import CleaningRun
from corpus.services.cleaning import drop_cancelled
from corpus.services.cleaning_closing import close, wait_for_others
from corpus.services.cleaning_plan import plan, reopen
from corpus.services.cleaning_rules import clean_by_rules
from corpus.services.cleaning_share import Share
from kit.runs import RunStatus, stopping
from llm import endpoints
from llm.pump import carry_out
from llm.tasks import look_for_lost_calls_later

# A run that finds no place stays due; its thread is free for imports and debates.
_places = threading.BoundedSemaphore(settings.ASSAY_RUNS_AT_ONCE)
# A second thread of one process would only wait for the first.
_here: set[int] = set()
_guard = threading.Lock()


@shared_task(name=CleaningRun.task_name)
def clean_corpus(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it, or drop what a cancelled one left.

    Harmless when delivered twice.
    """
    if not _places.acquire(blocking=False):
        return
    try:
        with _only_here(run_id) as is_alone:
            if is_alone:
                _take_part(run_id)
    finally:
        _places.release()


def drive_claimed(run: CleaningRun, *, seconds: float | None = None, leads: bool = True) -> None:
    """Drive a run this process has claimed, to its end or for about so many seconds.

    Without `leads` another worker has it, and this one takes groups as long as there are some.
    """
    share = Share(run, leads=leads)
    try:
        carry_out(share, lambda: _drive(share, seconds), name="cleaning run")
    finally:
        with contextlib.suppress(DatabaseError, InterfaceError):  # their leases end, too
            share.let_go()


def _take_part(run_id: int) -> None:
    runs = CleaningRun.objects.select_related("benchmark", "source", "version", "created_by")
    run = runs.filter(pk=run_id).first()
    if run is None:
        return
    if run.claim():
        if run.fence > 1:
            look_for_lost_calls_later()
        drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)
    elif run.status == RunStatus.RUNNING and run.is_planned and not stopping.is_set():
        drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS, leads=False)
    elif run.status == RunStatus.CANCELLED:
        drop_cancelled(run)


def _drive(share: Share, seconds: float | None) -> None:
    """Take groups; the leader goes on until all are done, and closes the run."""
    ends_at = math.inf if seconds is None else time.monotonic() + seconds
    if share.leads:
        plan(share.run)
        reopen(share.run)
    while not share.is_over:
        _work(share, ends_at)
        if share.is_over or not share.leads:
            return
        if time.monotonic() >= ends_at:
            share.release()
            return
        if wait_for_others(share, ends_at=ends_at) and not reopen(share.run):
            close(share.run)
            return


def _work(share: Share, ends_at: float) -> None:
    run = share.run
    if not run.has_calls:
        clean_by_rules(share, ends_at=ends_at)
        return
    if run.has_agents:
        from corpus.cleaning_pump import drive  # the model client is slow to import
    else:
        from corpus.chunk_pump import drive
    seconds = None if ends_at == math.inf else max(0.0, ends_at - time.monotonic())
    drive(share, endpoints.get(run.endpoint), seconds=seconds)


@contextlib.contextmanager
def _only_here(run_id: int) -> Iterator[bool]:
    """Whether no other thread of this process is at the run."""
    with _guard:
        is_alone = run_id not in _here
        _here.add(run_id)
    try:
        yield is_alone
    finally:
        if is_alone:
            _here.discard(run_id)
