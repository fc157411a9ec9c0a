"""The worker's way into debate runs."""

import contextlib
import logging
import threading

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from debate.models import DebateRun
from kit.runs import BrokerAway, LostLease, RunStatus, Stopping, stopping, tell_workers
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.failures import CannotGoOn
from llm.lost_calls import LOST_AFTER, list_lost_calls
from llm.prices import PriceError, UnknownPrice

logger = logging.getLogger(__name__)
_OUTAGES = (OperationalError, InterfaceError)
_SETUP_FAULTS = (UnknownEndpoint, EndpointError, UnknownPrice, PriceError)
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


@shared_task(name="debate.list_lost_calls")
def look_for_lost_calls() -> None:
    """List what a dead worker never heard of; harmless at any time."""
    list_lost_calls()


def drive_claimed(run: DebateRun, *, seconds: float | None = None) -> None:
    """Drive a run this process has claimed; faults end up in the row, in words.

    To its end, or for about so many seconds: then it is released, and due again.
    A database that goes away in the middle is no fault of the run: its lease runs out, and
    whoever looks next goes on.
    """
    try:
        run.hold(pause_reason="")
        list_lost_calls()
        _drive(run, seconds)
        list_lost_calls()
    except LostLease:
        logger.info("debate run %s was paused, cancelled or taken over", run.pk)
    except _OUTAGES as error:
        _note_outage(run, error)


def _claim_and_drive(run_id: int) -> bool:
    run = DebateRun.objects.filter(pk=run_id).select_related("benchmark").first()
    if run is None or not run.claim():
        return False
    if run.fence > 1:
        _look_for_lost_calls_later()
    drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)
    return True


def _drive(run: DebateRun, seconds: float | None) -> None:
    from debate.pump import drive  # the model client is slow to import

    try:
        drive(run, endpoints.get(run.endpoint), seconds=seconds)
    except Stopping:
        run.release()
    except CannotGoOn as error:
        _stop(run, str(error), pauses=error.pauses)
    except _SETUP_FAULTS as error:
        _stop(run, str(error))
    except LostLease:
        raise
    except Exception as error:
        if words := _setup_fault(error):
            _stop(run, words)
            return
        if _is_outage(error):
            _note_outage(run, error)
            return
        logger.exception("debate run %s", run.pk)
        run.finish(RunStatus.FAILED, error="The run stopped on an error of ours; see the log.")


def _stop(run: DebateRun, words: str, *, pauses: bool = False) -> None:
    """End the drive with words for people; the unfinished pairs keep waiting."""
    if pauses:
        run.pause(error=words, pause_reason=words)
    else:
        run.finish(RunStatus.FAILED, error=words)


def _setup_fault(error: BaseException) -> str:
    """The words of a setting that turned out wrong in the middle; debates report in a group."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_setup_fault, error.exceptions)), "")
    return str(error) if isinstance(error, _SETUP_FAULTS) else ""


def _tell_the_next() -> None:
    """A place is free: whoever waited longest for one need not wait for the sweep."""
    with contextlib.suppress(BrokerAway, DatabaseError):
        following = DebateRun.objects.due().order_by("fence", "pk").first()
        if following is not None:
            tell_workers(DebateRun.task_name, following.pk)


def _is_outage(error: BaseException) -> bool:
    """Whether nothing is wrong but the database; debates at once report their errors in a group."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_outage, error.exceptions))
    return isinstance(error, _OUTAGES)


def _note_outage(run: DebateRun, error: BaseException) -> None:
    logger.warning("debate run %s waits for the database until its lease is over", run.pk)
    logger.debug("debate run %s", run.pk, exc_info=error)


def _look_for_lost_calls_later() -> None:
    """The run had another worker: what that one died with is not old enough yet to be sure.

    Should the message be lost, the next run's claim or end looks as well.
    """
    with contextlib.suppress(BrokerAway):
        look_for_lost_calls.apply_async(countdown=LOST_AFTER.total_seconds() + 1)
