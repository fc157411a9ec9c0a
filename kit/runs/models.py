"""Long work as a row: state, progress, lease and cancel live in the database.

The broker only wakes workers. A run is claimed by a conditional UPDATE; the claim gives a lease
that expires and a fence that every later write must carry, so a worker that lost its lease can
neither finish nor fail a run that another one took over.
"""

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Collection
from datetime import timedelta
from typing import Any, ClassVar, Final, Self

from celery import current_app
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from kombu.exceptions import OperationalError

from kit.failpoints import reach
from kit.health.logs import run_now
from kit.runs import turns
from kit.runs.quotas import priorities

logger = logging.getLogger(__name__)
# What sending raises when no broker answers.
BrokerAway = OperationalError
# One more try, on a fresh connection: a person waits for it, and polling finds the rest.
_ONE_MORE_TRY: Final = {"max_retries": 1, "interval_start": 0}


class RunStatus(models.TextChoices):
    """States of long work and, in MOVES, the legal moves between them."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


MOVES: dict[str, tuple[str, ...]] = {
    RunStatus.QUEUED: (RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLED),
    # Back to queued only by release(), which needs the fence of the worker that holds the run.
    RunStatus.RUNNING: (
        RunStatus.PAUSED,
        RunStatus.DONE,
        RunStatus.FAILED,
        RunStatus.CANCELLED,
    ),
    RunStatus.PAUSED: (RunStatus.QUEUED, RunStatus.CANCELLED),
    RunStatus.FAILED: (RunStatus.QUEUED,),
    RunStatus.DONE: (),
    RunStatus.CANCELLED: (),
}
# Legal only for a verb that names the state: one that does a finished run's failed parts again, or
# that gives up a failed one and what it has half made.
REDO_MOVES: dict[str, tuple[str, ...]] = {
    RunStatus.DONE: (RunStatus.QUEUED,),
    RunStatus.FAILED: (RunStatus.CANCELLED,),
}
OVER = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)


class LostLease(Exception):
    """Another worker took the run over, or a person stopped it: leave it alone."""


class Stopping(LostLease):
    """This worker process is being shut down: leave the run alone, it is given back."""


# PostgreSQL's channel on which pollers are woken.
CHANNEL: Final = "assay_runs"
# Set when the worker process is asked to end; every heartbeat looks at it.
stopping = threading.Event()
# What this thread claimed last: a task claims one run.
_claimed = threading.local()


class RunQuerySet(models.QuerySet[Any]):
    """Vocabulary for reading runs."""

    def due(self) -> Self:
        """Runs that a worker should take: queued, or running with an expired lease."""
        expired = Q(status=RunStatus.RUNNING, lease_until__lt=timezone.now())
        return self.filter(Q(status=RunStatus.QUEUED) | expired)

    def calling(self) -> Self:
        """Runs that workers should be told of: due ones, and those with a group to be taken."""
        free = RunGroup.objects.due().filter(kind=self.model.task_name, run_id=OuterRef("pk"))
        return self.due() | self.filter(Exists(free), status=RunStatus.RUNNING)


class TrackedRun(models.Model):
    """Base of import, debate, cleaning and release runs. Subclasses name their Celery task.

    `noun` is what events call it: "pause cleaning".
    """

    task_name: ClassVar[str] = ""
    noun: ClassVar[str] = ""
    # How a filter leads from such a run to its benchmark.
    of_benchmark: ClassVar[str] = "benchmark"
    # The route of its page, and the field that it takes beside the benchmark ("": none).
    page_route: ClassVar[str] = ""
    page_key: ClassVar[str] = "pk"
    # Somebody waits for it in front of a page.
    at_screen: ClassVar[bool] = False
    # Its total, known before it begins, tells how long it takes.
    total_tells: ClassVar[bool] = True

    status = models.CharField(
        max_length=12, choices=RunStatus.choices, default=RunStatus.QUEUED, db_index=True
    )
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    owner = models.CharField(max_length=80, blank=True, default="")
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        abstract = True

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more without a person."""
        return self.status in OVER

    @property
    def can_cancel(self) -> bool:
        """Whether a person may still stop it."""
        return RunStatus.CANCELLED in MOVES[self.status]

    @property
    def can_pause(self) -> bool:
        """Whether a person may stop it for a while."""
        return RunStatus.PAUSED in MOVES[self.status]

    @property
    def can_resume(self) -> bool:
        """Whether it goes on only when a person says so."""
        return self.status in (RunStatus.PAUSED, RunStatus.FAILED)

    @property
    def scope(self) -> str:
        """Where its events stand: in its benchmark."""
        found: Any = self
        for name in self.of_benchmark.split("__"):
            found = getattr(found, name)
        return str(found.slug)

    @property
    def event_data(self) -> dict[str, Any] | None:
        """What its events tell beside its key."""
        return None

    @property
    def log_name(self) -> str:
        """What lines of the log call it."""
        return f"{self.task_name} {self.pk}"

    @property
    def percent(self) -> int:
        """Progress in whole percent; 0 while the total is unknown."""
        return min(100, 100 * self.done // self.total) if self.total else 0

    @classmethod
    def weigh(cls, said: int | None, total: int, of_benchmark: int | None = None) -> int:
        """The weight of such a run: what a person said of it, else of its benchmark, else by its
        size. What somebody waits for at the screen goes before what is said of a benchmark."""
        by_size = turns.Priority.LOW if total > turns.SMALL else turns.Priority.NORMAL
        return said or (turns.AT_SCREEN if cls.at_screen else of_benchmark or by_size)

    @property
    def claimant(self) -> turns.Claimant:
        """Who it is where several runs wait for the same."""
        scope = self.scope.partition("#")[0]  # of what stands apart in the record, too
        said = getattr(self, "priority", None)
        weight = self.weigh(said, self.total, priorities().get(scope))
        is_small = self.total_tells and 0 < self.total <= turns.SMALL
        return turns.Claimant((self.task_name, self.pk), scope, weight, is_small)

    @property
    def level(self) -> str:
        """Its priority in a word."""
        return turns.in_a_word(self.claimant.weight)

    @property
    def groups(self) -> "RunGroupQuerySet":
        """What workers take of it one by one (kit.runs.sharing)."""
        return RunGroup.objects.filter(kind=self.task_name, run_id=self.pk)

    def waiting_items(self) -> models.QuerySet[Any]:
        """Rows that wait for their outcome, of kinds that workers share."""
        raise NotImplementedError

    @classmethod
    def is_shared(cls) -> bool:
        """Whether workers share such a run, each in a place of its own."""
        return cls.waiting_items is not TrackedRun.waiting_items

    def move(self, to: str, *, sources: Collection[str] = (), **fields: Any) -> bool:
        """Move to state `to` by one conditional UPDATE; False if that is no legal move now.

        `sources` narrows the states it may start from, and opens those of REDO_MOVES.
        """
        legal = {state for state, targets in MOVES.items() if to in targets}
        if sources:
            redo = {state for state, targets in REDO_MOVES.items() if to in targets}
            legal = (legal | redo) & set(sources)
        changed = self._rows().filter(status__in=legal).update(status=to, **fields)
        self.refresh_from_db()
        return bool(changed)

    def claim(self) -> bool:
        """Take the run for this process; False if another worker has it or this one is ending."""
        # A group belongs to a run that was claimed; whichever thread of its worker takes it.
        if stopping.is_set() or (self.task_name and not self.may_claim()):
            return False
        now = timezone.now()
        # In one transaction, so that the fence read back is the one that this claim wrote.
        with transaction.atomic():
            changed = (
                self._rows()
                .due()
                .update(
                    status=RunStatus.RUNNING,
                    owner=worker_id(),
                    fence=F("fence") + 1,
                    lease_until=now + lease(),
                    started_at=Coalesce("started_at", now),
                    ended_at=None,
                    error="",
                )
            )
            self.refresh_from_db()
            if changed:
                reach("during-claim")
        if changed:
            _claimed.run = self
            run_now.set(self.log_name)
        return bool(changed)

    def may_claim(self) -> bool:
        """Whether this thread of a worker may begin it (kit/runs/turns.py)."""
        return not turns.threads or turns.may_claim(self.claimant, at_screen=self.at_screen)

    def beat(self, **fields: Any) -> None:
        """Renew the lease and store progress; raises LostLease if the run is no longer ours.

        Raises Stopping in a worker that is being shut down. All kinds of run treat that as any
        lost lease, and give_back() returns the run once the task has cleaned up.
        """
        if stopping.is_set():
            raise Stopping(f"{self._meta.label} {self.pk}")
        self.hold(**fields)

    def hold(self, **fields: Any) -> None:
        """Do what beat() does, also in a worker that is being shut down: to write what is done."""
        self._held(lease_until=timezone.now() + lease(), **fields)

    def finish(self, status: str = RunStatus.DONE, **fields: Any) -> None:
        """End the run; raises LostLease if it is no longer ours."""
        self._held(status=status, ended_at=timezone.now(), lease_until=None, **fields)

    def pause(self, **fields: Any) -> None:
        """Stop by the worker's own account, until a person resumes; `fields` tell why."""
        self._held(status=RunStatus.PAUSED, lease_until=None, **fields)

    def release(self, **fields: Any) -> None:
        """Give an unfinished run back, to be taken up by whoever looks next."""
        self._held(status=RunStatus.QUEUED, lease_until=None, **fields)
        wake(self)

    def _rows(self) -> RunQuerySet:
        return type(self).objects.filter(pk=self.pk)  # type: ignore[return-value]

    def _held(self, **fields: Any) -> None:
        held = self._rows().filter(fence=self.fence, status=RunStatus.RUNNING)
        if not held.update(**fields):
            raise LostLease(f"{self._meta.label} {self.pk}")
        for name, value in fields.items():
            if not isinstance(value, models.expressions.Combinable):
                setattr(self, name, value)


class RunGroupQuerySet(RunQuerySet):
    """Vocabulary for reading groups."""

    def working(self) -> Any:
        """The workers that hold a group now, by name."""
        held = self.filter(status=RunStatus.RUNNING, lease_until__gte=timezone.now())
        return held.order_by().values("owner").distinct()


class RunGroup(TrackedRun):
    """A stretch of a run under a lease and fence of its own: items with keys in (after, up_to].

    `kind` is the task of the run with that id. Items of a cleaning by rules are passages of its
    source, of which those up to `last_id` are through, and `figures` what they came to. Workers
    are told of runs, not of groups: it has no task.
    """

    kind = models.CharField(max_length=40)
    run_id = models.BigIntegerField()
    after = models.BigIntegerField()
    up_to = models.BigIntegerField()
    last_id = models.BigIntegerField(default=0)
    figures = models.JSONField(default=dict)

    objects = RunGroupQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["kind", "run_id", "status", "id"], name="group_of_run")]

    def __str__(self) -> str:
        return f"group {self.pk} of {self.kind} {self.run_id}"

    @property
    def log_name(self) -> str:
        """The run that it belongs to."""
        return f"{self.kind} {self.run_id}"

    def within(self, items: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Those of the items that are in this group, in the order of their keys."""
        return items.filter(pk__gt=self.after, pk__lte=self.up_to).order_by("pk")


def give_back() -> bool:
    """Release what this thread claimed last, if this process is ending before it was done.

    True where that run is over.
    """
    run: TrackedRun | None = getattr(_claimed, "run", None)
    _claimed.run = None
    turns.end_claim()
    run_now.set("")
    if run is not None and stopping.is_set():
        with contextlib.suppress(LostLease):  # it ended, or another worker has it
            run.release()
    return run is not None and run.is_over


def lease() -> timedelta:
    """How long a claimed run may stay silent."""
    return timedelta(seconds=settings.ASSAY_LEASE_SECONDS)


def worker_id() -> str:
    """Name of this process in lease columns."""
    return f"{socket.gethostname()}:{os.getpid()}"


def wake(run: TrackedRun) -> None:
    """Tell workers, after commit, that the run is due.

    A broker brings the message; without one, every worker is made to poll at once.
    A group of a run has no task of its own: workers at the run look for it.
    """
    name, pk = run.task_name, run.pk
    if not name:
        return
    if settings.BROKER_URL:
        transaction.on_commit(lambda: _try_to_wake(name, pk))
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")  # sent when the transaction commits
    else:
        transaction.on_commit(_touch)


def begin(run: TrackedRun, *, claimed: bool) -> None:
    """Keep a new run for this process, or wake a worker for it."""
    if claimed:
        run.claim()
    else:
        wake(run)


def _touch() -> None:
    """The run is stored already: a full disk must not make its start look failed."""
    with contextlib.suppress(OSError):
        settings.WAKE_FILE.touch()


def wake_workers(task_name: str, pk: int) -> None:
    """Send the message that a run is due; raises BrokerAway."""
    current_app.send_task(task_name, args=[pk], retry_policy=_ONE_MORE_TRY)


def _try_to_wake(task_name: str, pk: int) -> None:
    """The run is stored already: a broker that is away must not make its start look failed."""
    try:
        wake_workers(task_name, pk)
    except BrokerAway as error:
        logger.warning("%s %s is left to polling: no broker answers: %s", task_name, pk, error)
