"""Driving a claimed run of calls, with its faults put into the row in words."""

import logging
from collections.abc import Callable
from typing import Any, Final, Protocol

from django.db import DatabaseError, InterfaceError, OperationalError

from kit.runs import LostLease, RunStatus, Stopping
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.failures import CannotGoOn
from llm.lost_calls import list_lost_calls
from llm.prices import PriceError, UnknownPrice

logger = logging.getLogger(__name__)
_OUTAGES: Final = (OperationalError, InterfaceError)
_SETUP_FAULTS: Final = (UnknownEndpoint, EndpointError, UnknownPrice, PriceError)


class Driven(Protocol):
    """A tracked run with a column for why a worker paused it."""

    pk: Any

    def hold(self, **fields: Any) -> None: ...
    def release(self) -> None: ...
    def pause(self, **fields: Any) -> None: ...
    def finish(self, status: str = RunStatus.DONE, **fields: Any) -> None: ...


def carry_out(run: Driven, drive: Callable[[], None], *, name: str) -> None:
    """Drive a run this process has claimed; whatever goes wrong ends up in the row, in words.

    A database that goes away in the middle is no fault of the run: its lease runs out, and
    whoever looks next goes on. `name` is for the log.
    """
    try:
        run.hold(pause_reason="")
        list_lost_calls()
        _drive(run, drive, name)
        list_lost_calls()
    except LostLease:
        logger.info("%s %s was paused, cancelled or taken over", name, run.pk)
    except _OUTAGES as error:
        _note_outage(run, error, name)


def _drive(run: Driven, drive: Callable[[], None], name: str) -> None:
    try:
        drive()
    except Stopping:
        run.release()
    except CannotGoOn as error:
        _stop(run, str(error), pauses=error.pauses)
    except _SETUP_FAULTS as error:
        _stop(run, str(error))
    except LostLease:
        raise
    except Exception as error:  # the job's outermost frame: logged, and told in the row
        if words := _setup_fault(error):
            _stop(run, words)
            return
        if _is_outage(error):
            _note_outage(run, error, name)
            return
        logger.exception("%s %s", name, run.pk)
        run.finish(RunStatus.FAILED, error="The run stopped on an error of ours; see the log.")


def _stop(run: Driven, words: str, *, pauses: bool = False) -> None:
    """End the drive with words for people; what is unfinished keeps waiting."""
    if pauses:
        run.pause(error=words, pause_reason=words)
    else:
        run.finish(RunStatus.FAILED, error=words)


def _setup_fault(error: BaseException) -> str:
    """The words of a setting that turned out wrong in the middle; items report in a group."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_setup_fault, error.exceptions)), "")
    return str(error) if isinstance(error, _SETUP_FAULTS) else ""


def _is_outage(error: BaseException) -> bool:
    """Whether the database went away; items at once report their errors in a group.

    One such error in a group is enough, and so is one behind another error of the database: the
    rest follows from it, and what does not comes again when the run goes on.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_outage, error.exceptions))
    if isinstance(error, _OUTAGES):
        return True
    cause = error.__cause__ or error.__context__
    return isinstance(error, DatabaseError) and cause is not None and _is_outage(cause)


def _note_outage(run: Driven, error: BaseException, name: str) -> None:
    logger.warning("%s %s waits for the database until its lease is over", name, run.pk)
    logger.debug("%s %s", name, run.pk, exc_info=error)
