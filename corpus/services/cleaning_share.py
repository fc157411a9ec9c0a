"""One worker's part in a cleaning run: the groups that it holds, and the run where it leads.

The worker that claimed the run leads: it plans, takes groups, and publishes when all are done.
Any other worker only takes groups. A group's writes carry its own fence, and end by counting in
the run's row: whoever paused or cancelled the run, or took it away, undoes them.
"""

import contextlib
import time
from collections.abc import Collection
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from corpus.models import CleaningGroup, CleaningRun
from kit.runs import LostLease, RunStatus, Stopping, lease, stopping

# Free groups that are tried at once: another worker may be quicker with the first.
_TRIED: Final = 8
# A run without its leader waits to be claimed; what others do for it meanwhile still counts.
_OPEN: Final = (RunStatus.RUNNING, RunStatus.QUEUED)


class Share:
    """Stands where the pump and llm.pump expect a run."""

    def __init__(self, run: CleaningRun, *, leads: bool) -> None:
        self.run, self.leads = run, leads
        self.pk = run.pk
        self.held: dict[int, CleaningGroup] = {}
        # Whether the run was given back, paused or ended, and is no more this worker's.
        self.is_over = False
        self._beaten = time.monotonic()

    def claim(self) -> CleaningGroup | None:
        """A free group of the run, now held by this worker; None if none is free."""
        for group in self.run.groups.due().order_by("fence", "pk")[:_TRIED]:
            if group.claim():
                self.held[group.pk] = group
                return group
        return None

    def beat(self, **fields: Any) -> None:
        """Renew every lease. Raises LostLease, and Stopping in a worker that is to end."""
        if stopping.is_set():
            raise Stopping(f"cleaning run {self.pk}")
        self.hold(**fields)

    def keep(self) -> None:
        """Beat if the leases need it by now. Raises what beat() raises."""
        if stopping.is_set() or time.monotonic() - self._beaten > lease().total_seconds() / 6:
            self.beat()

    def hold(self, **fields: Any) -> None:
        """The same, also in a worker that is to end."""
        self._beaten = time.monotonic()
        with transaction.atomic():
            for group in self.held.values():
                group.hold()
            if self.leads:
                self.run.hold(**fields)
            elif not _rows(self.run).exists():
                raise LostLease(f"cleaning run {self.pk}")

    def hold_groups(self, groups: Collection[CleaningGroup]) -> None:
        """Renew these leases; the beginning of the caller's transaction. Raises LostLease."""
        for group in groups:
            group.hold()

    def advance(self, group: CleaningGroup, done: int, **fields: Any) -> None:
        """Note what was done of a group; the end of the caller's transaction. Raises LostLease."""
        group.hold(done=F("done") + done, **fields)
        self.count(done)

    def end(self, group: CleaningGroup) -> None:
        """Give a group away that was finished."""
        self.held.pop(group.pk, None)

    def count(self, done: int) -> None:
        """Add to the run's progress, if it is still to go on. Raises LostLease."""
        if not _rows(self.run).update(done=F("done") + done):
            raise LostLease(f"cleaning run {self.pk}")

    def let_go(self) -> None:
        """Give the groups back, for whoever looks next."""
        for group in self.held.values():
            with contextlib.suppress(LostLease):
                group.release()
        self.held.clear()

    def release(self) -> None:
        """Give everything back, to be taken up by whoever looks next."""
        self._leave()
        if self.leads:
            self.run.release()

    def pause(self, **fields: Any) -> None:
        """Stop until a person resumes. Who does not lead leaves that to the one who does."""
        self._leave()
        if self.leads:
            self.run.pause(**fields)

    def finish(self, status: str = RunStatus.DONE, **fields: Any) -> None:
        """End the run. Who does not lead gives its groups back: the leader meets the same fault."""
        self._leave()
        if self.leads:
            self.run.finish(status, **fields)

    def _leave(self) -> None:
        self.is_over = True
        self.let_go()


def _rows(run: CleaningRun) -> Any:
    return CleaningRun.objects.filter(pk=run.pk, status__in=_OPEN)
