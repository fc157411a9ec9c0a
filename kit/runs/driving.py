"""Workers at a run: one leads, others help, and what goes wrong ends up in its row, in words."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from kit.errors import Pauses, Refused
from kit.runs import turns
from kit.runs.models import (
    BrokerAway,
    LostLease,
    RunStatus,
    Stopping,
    TrackedRun,
    stopping,
    wake,
    wake_workers,
)
from kit.runs.polling import due_runs
from kit.runs.sharing import Share, cut, reopen

logger = logging.getLogger(__name__)
RunT = TypeVar("RunT", bound=TrackedRun)
_OUTAGES: Final = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class Drive(Generic[RunT]):
    """What workers do with a kind of run, each in its own task.

    `work` takes groups until none is free or the worker's time is up; `plan` makes the groups,
    `close` ends a run whose groups are all done.
    """

    model: type[RunT]
    work: Callable[[Share[RunT]], None]
    close: Callable[[RunT], None] = TrackedRun.finish
    plan: Callable[[RunT], None] = cut
    related: tuple[str, ...] = ("benchmark",)

    def take_part(self, run_id: int) -> None:
        """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
        rows: Any = self.model.objects.select_related(*self.related)
        run: RunT | None = rows.filter(pk=run_id).first()
        # Those that come for nothing need no place.
        if run is None or not self.model.objects.calling().filter(pk=run_id).exists():
            return
        with turns.place(run.claimant) as turn:
            has_led = turn is not None and self._take_part(run, turn)
        if has_led and not stopping.is_set():
            # A place is free: whoever is next need not wait for the next poll.
            with contextlib.suppress(BrokerAway, DatabaseError):
                for model, pk, *_ in due_runs(shared=True)[:1]:
                    wake_workers(model.task_name, pk)

    def task(self) -> Any:
        """The task by which workers are told of a run that is due."""

        @shared_task(name=self.model.task_name)
        def take_part(run_id: int) -> None:
            self.take_part(run_id)

        return take_part

    def drive(
        self,
        run: RunT,
        *,
        seconds: float | None = None,
        leads: bool = True,
        turn: turns.Turn | None = None,
    ) -> None:
        """Drive a run this process has claimed; faults end up in the row, in words.

        To its end, or for about so many seconds or until its turn is over: then it is released, and
        due again. Without `leads` another worker has it, and this one takes groups as long as there
        are some.
        """
        share = Share(run, leads=leads, seconds=seconds, turn=turn)
        try:
            share.hold(**{"pause_reason": ""} if hasattr(run, "pause_reason") else {})
            try:
                self._drive(share)
            except Exception as error:  # the job's outermost frame: it ends up in the row
                # One lost lease in a group is enough: what else went wrong comes again elsewhere.
                lost = [each for each in _leaves(error) if isinstance(each, LostLease)]
                if any(not isinstance(each, Stopping) for each in lost):
                    raise LostLease from error
                if lost:
                    share.release()
                else:
                    _end(share, error)
        except LostLease:
            logger.info("%s was paused, cancelled or taken over", _name(share))
        except _OUTAGES as error:
            _note_outage(share, error)
        finally:
            with contextlib.suppress(DatabaseError, InterfaceError):  # the leases end, too
                share.let_go()

    def _take_part(self, run: RunT, turn: turns.Turn) -> bool:
        """Whether it led the run."""
        seconds = settings.ASSAY_PUMP_SECONDS
        if not run.may_claim():
            turn.begin()  # who gives its place gives its thread
            return False
        if not run.claim():
            is_shared = run.status == RunStatus.RUNNING and run.groups.due().exists()
            if not is_shared or stopping.is_set():
                return False
            turn.begin()
            self.drive(run, seconds=seconds, leads=False, turn=turn)
            run.refresh_from_db()
            # Who led it may have died; one that was given back stands behind those that wait.
            if run.status != RunStatus.RUNNING or turn.is_over or not run.claim():
                return False
        turn.begin()
        self.drive(run, seconds=seconds, turn=turn)
        return True

    def _drive(self, share: Share[RunT]) -> None:
        """Take groups; the leader goes on until all are done, and closes the run."""
        run = share.run
        if share.leads:
            self.plan(run)
            reopen(run)
            if not settings.BROKER_URL:  # whose workers hear of it at their next look
                wake(run)  # there are groups now, for others too
        while not share.is_over:
            if run.groups.due().exists():
                self.work(share)
            if share.is_over:
                return
            if share.is_time_up:
                share.release()
            elif not share.leads:
                return
            elif share.wait_for_others() and not reopen(run):
                self.close(run)
                return


def _end(share: Share[RunT], error: BaseException) -> None:
    """End a drive with words for people; what is unfinished keeps waiting.

    A database that goes away in the middle is no fault of the run: its lease runs out, and
    whoever looks next goes on.
    """
    fault = next((each for each in _leaves(error) if isinstance(each, Refused)), None)
    if isinstance(fault, Pauses):
        share.pause(error=str(fault), pause_reason=str(fault))
    elif fault:
        share.finish(RunStatus.FAILED, error=str(fault))
    elif _is_outage(error):
        _note_outage(share, error)
    else:
        logger.error("%s", _name(share), exc_info=error)
        share.finish(RunStatus.FAILED, error="The run stopped on an error of ours; see the log.")


def _leaves(error: BaseException | None) -> Iterator[BaseException | None]:
    """The error itself; items at once report theirs in a group."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _is_outage(error: BaseException | None) -> bool:
    """Whether the database went away.

    One such error in a group is enough, and so is one behind another error of the database: the
    rest follows from it, and what does not comes again when the run goes on.
    """
    return any(
        isinstance(each, _OUTAGES)
        or (isinstance(each, DatabaseError) and _is_outage(each.__cause__ or each.__context__))
        for each in _leaves(error)
    )


def _note_outage(share: Share[RunT], error: BaseException) -> None:
    logger.warning("%s waits for the database until its lease is over", _name(share))
    logger.debug("%s", _name(share), exc_info=error)


def _name(share: Share[RunT]) -> str:
    return f"{share.run._meta.verbose_name} {share.run.pk}"
