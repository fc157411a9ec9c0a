"""A run that many workers share: groups of its items, each held by one of them at a time.

The worker that claimed the run leads: it cuts what waits into groups, takes some itself, and
closes the run when all are done. Any other worker only takes groups. A group's writes carry its
own fence, and end by counting in the run's row: whoever paused or cancelled the run undoes them.
"""

import contextlib
import math
import time
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final, Generic, TypeVar

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q
from django.utils import timezone

from kit.runs.models import (
    LostLease,
    RunGroup,
    RunStatus,
    Stopping,
    TrackedRun,
    lease,
    stopping,
    wake,
)
from kit.runs.turns import Turn

RunT = TypeVar("RunT", bound=TrackedRun)
# Items of a group, at least and at most: so few that the last ones of a run are spread over its
# workers, and of a long run so many that taking groups costs little.
GROUP: Final = 20
_LARGEST: Final = 100
_PARTS: Final = 64
_ROWS: Final = 1000
# Free groups that are tried at once: another worker may be quicker with the first.
_TRIED: Final = 8
# Between two looks at the groups that others hold.
_LOOK_S: Final = 0.2
# Leases in one statement: databases bound how long a condition may be.
_AT_ONCE: Final = 100
# A run without its leader waits to be claimed; what others do for it meanwhile still counts.
_OPEN: Final = (RunStatus.RUNNING, RunStatus.QUEUED)


def cut(run: TrackedRun) -> None:
    """Make groups of what waits behind the last group. Raises LostLease."""
    after = run.groups.aggregate(last=Max("up_to"))["last"] or 0
    keys = run.waiting_items().order_by("pk").values_list("pk", flat=True)
    size = max(GROUP, min(_LARGEST, keys.filter(pk__gt=after).count() // _PARTS))
    while part := list(keys.filter(pk__gt=after)[: size * _ROWS]):
        groups = []
        for start in range(0, len(part), size):
            groups.append(new_group(run, after, part[start : start + size]))
            after = groups[-1].up_to
        with transaction.atomic():
            run.beat()
            RunGroup.objects.bulk_create(groups, batch_size=_ROWS)


def new_group(run: TrackedRun, after: int, keys: Sequence[int]) -> RunGroup:
    """An unsaved group of these keys, all behind `after`."""
    size = {"after": after, "up_to": keys[-1], "last_id": after, "total": len(keys)}
    return RunGroup(kind=run.task_name, run_id=run.pk, **size)


def reopen(run: TrackedRun) -> bool:
    """Put groups that are done but have waiting items back; whether there were any.

    People send items back after their group was done.
    """
    inside = {"pk__gt": OuterRef("after"), "pk__lte": OuterRef("up_to")}
    waiting = Exists(run.waiting_items().filter(**inside))
    done = run.groups.filter(waiting, status=RunStatus.DONE)
    return bool(done.update(status=RunStatus.QUEUED, lease_until=None))


class Share(Generic[RunT]):
    """One worker's part in a run: the groups that it holds, and the run itself where it leads."""

    def __init__(
        self,
        run: RunT,
        *,
        leads: bool = True,
        seconds: float | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.run, self.leads = run, leads
        self.turn = turn or Turn(run.claimant)
        self._ends_at = math.inf if seconds is None else time.monotonic() + seconds
        self.held: dict[int, RunGroup] = {}
        # Whether the run was given back, paused or ended, and is no more this worker's.
        self.is_over = False
        self._renewed = time.monotonic()

    @property
    def is_time_up(self) -> bool:
        """Whether this worker is to begin nothing more: its seconds are over, or its turn is."""
        return self.turn.is_over or time.monotonic() >= self._ends_at

    def claim(self) -> RunGroup | None:
        """A free group of the run, now held by this worker; None if none is free.

        Never one that it holds already: a lease that ran out in a stalled worker is renewed, and
        the same items are not begun a second time.
        """
        groups = self.run.groups.exclude(pk__in=self.held)
        # Last what another worker had when it died: it may be what it died of.
        for free in (groups.filter(status=RunStatus.QUEUED), groups.due()):
            for group in free.order_by("pk")[:_TRIED]:
                if group.claim():
                    self.held[group.pk] = group
                    return group
        return None

    def end(self, group: RunGroup) -> None:
        """Give a group away that was finished. Raises LostLease."""
        group.finish()
        del self.held[group.pk]

    def beat(self) -> None:
        """Renew the leases. Raises LostLease, also where a person stopped the run, and Stopping."""
        if stopping.is_set():
            raise Stopping(f"{self.run._meta.label} {self.run.pk}")
        self.hold()

    def keep(self) -> None:
        """The same where the last time is a while ago: between the items of long work."""
        if self._is_long_ago():
            self.beat()

    def hold(self, **fields: Any) -> None:
        """What beat() does, also in a worker that is to end; `fields` are stored by who leads."""
        if self._is_long_ago():
            self.hold_groups(self.held.values())
            self._renewed = time.monotonic()
        if self.leads:
            self.run.hold(**fields)
        elif not self._rows().exists():
            raise self._lost()

    def hold_groups(self, groups: Iterable[RunGroup]) -> None:
        """Renew these leases; the beginning of a transaction that writes. Raises LostLease."""
        conditions = [Q(pk=each.pk, fence=each.fence) for each in groups]
        for start in range(0, len(conditions), _AT_ONCE):
            part = conditions[start : start + _AT_ONCE]
            rows = RunGroup.objects.filter(reduce(or_, part), status=RunStatus.RUNNING)
            if rows.update(lease_until=timezone.now() + lease()) < len(part):
                raise self._lost()

    def count(self, done: int) -> None:
        """Add to the run's progress, the end of such a transaction. Raises LostLease."""
        if not self._rows().update(done=F("done") + done):
            raise self._lost()
        self.run.done += done

    def wait_for_others(self) -> bool:
        """Wait while other workers hold groups; whether all are done.

        False once a group can be taken or the time is up. Raises LostLease and Stopping.
        """
        groups = self.run.groups
        while groups.exclude(status=RunStatus.DONE).exists():
            if groups.due().exists() or self.is_time_up:
                return False
            time.sleep(_LOOK_S)
            self.beat()
        return True

    def release(self) -> None:
        """Give the run back, or what is left to help with, to whoever looks next."""
        self.is_over = True
        if self.leads:
            self.run.release()
        else:
            wake(self.run)

    def pause(self, **fields: Any) -> None:
        """Stop the run for all its workers, until a person resumes; `fields` tell why."""
        self.is_over = True
        if self.leads:
            self.run.pause(**fields)
        else:
            self.run.move(RunStatus.PAUSED, sources=_OPEN, lease_until=None, **fields)

    def finish(self, status: str = RunStatus.DONE, **fields: Any) -> None:
        """End the run. Who does not lead leaves that to the one who does, and meets the same."""
        self.is_over = True
        if self.leads:
            self.run.finish(status, **fields)

    def let_go(self) -> None:
        """Give back the groups that are still held; the end of this worker's part."""
        for each in self.held.values():
            with contextlib.suppress(LostLease):  # another worker has it
                each.release()
        self.held.clear()

    def _is_long_ago(self) -> bool:
        return time.monotonic() - self._renewed > lease().total_seconds() / 6

    def _rows(self) -> Any:
        return type(self.run).objects.filter(pk=self.run.pk, status__in=_OPEN)

    def _lost(self) -> LostLease:
        return LostLease(f"{self.run._meta.label} {self.run.pk}")
