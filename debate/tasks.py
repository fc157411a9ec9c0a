"""The worker's way into debate runs."""

import contextlib
import threading

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError

from debate.models import DebateRun
from kit.runs import BrokerAway, stopping, tell_workers
from llm import endpoints
from llm.pump import carry_out
from llm.tasks import look_for_lost_calls_later

# A run that finds no place stays due; its thread is free for imports and releases.
_places = threading.BoundedSemaphore(settings.ASSAY_RUNS_AT_ONCE)


@shared_task(name="debate.run")
def run_debates(run_id: int) -> None:
    """Claim the run and drive it for its turn; harmless when delivered twice."""
    if not _places.acquire(blocking=False):
        return
    try:
        has_driven = _claim_and_drive(run_id)
    finally:
        _places.release()
    if has_driven and not stopping.is_set():
        _tell_the_next()


def drive_claimed(run: DebateRun, *, seconds: float | None = None) -> None:
    """Drive a run this process has claimed; faults end up in the row, in words.

    To its end, or for about so many seconds: then it is released, and due again.
    """
    carry_out(run, lambda: _drive(run, seconds), name="debate run")


def _claim_and_drive(run_id: int) -> bool:
    run = DebateRun.objects.filter(pk=run_id).select_related("benchmark").first()
    if run is None or not run.claim():
        return False
    if run.fence > 1:
        look_for_lost_calls_later()
    drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)
    return True


def _drive(run: DebateRun, seconds: float | None) -> None:
    from debate.pump import drive  # the model client is slow to import

    drive(run, endpoints.get(run.endpoint), seconds=seconds)


def _tell_the_next() -> None:
    """A place is free: whoever waited longest for one need not wait for the sweep."""
    with contextlib.suppress(BrokerAway, DatabaseError):
        following = DebateRun.objects.due().order_by("fence", "pk").first()
        if following is not None:
            tell_workers(DebateRun.task_name, following.pk)
