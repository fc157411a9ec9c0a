"""Workers poll the database for due work.

Without a broker this is how work starts at all: `wake` makes a poller look at once, and what is due
goes into the worker's own in-memory queue. With a broker it makes up for lost messages.
Delivering a run twice is harmless, because claiming is a conditional UPDATE.
A message that nobody took yet is worth no second one: where all threads are busy for hours, the
queue would fill with thousands of copies.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

from celery import shared_task
from celery.signals import task_postrun, task_received, worker_ready, worker_shutting_down
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.models import Case, Exists, F, IntegerField, OuterRef, Value, When, Window
from django.db.models.functions import RowNumber
from kombu.asynchronous import get_event_loop

from kit.runs import turns
from kit.runs.models import (
    CHANNEL,
    BrokerAway,
    RunStatus,
    TrackedRun,
    give_back,
    stopping,
    wake_workers,
)
from kit.runs.periodic import PeriodicTasks
from kit.runs.quotas import priorities
from kit.runs.workers import beat, leave

# A task's name, the run's id, whether somebody leads the run, so that only help is welcome, and how
# often it was claimed. A run that loses its leader, or was claimed and given back since, is a new
# matter, and a message is sent at once.
Key: TypeAlias = tuple[str, int, bool, int]

# Seconds before a second message; doubled each time.
PATIENCE: Final = 5.0
# The longest of these waits. After so long a message that nobody took counts as lost.
MAX_PATIENCE: Final = 3600.0
# Messages in one's own queue at most.
MAX_WAITING: Final = 100


class Messages:
    """The messages that one worker process sent about due runs.

    In its own in-memory queue (`own_queue`) it sees what is taken from there, and sends nothing
    twice before that. Elsewhere it cannot see, and waits longer each time.
    """

    def __init__(self, *, own_queue: bool) -> None:
        self._own_queue = own_queue
        # When the last message was sent, and how long the next one waits.
        self._sent: dict[Key, tuple[float, float]] = {}
        self._waiting: dict[Key, float] = {}
        self._lock = threading.Lock()

    def to_send(self, due: Sequence[Key], *, now: float) -> list[Key]:
        """Those of the due runs about which a message should be sent now."""
        with self._lock:
            present = set(due)
            # What was taken since is a new matter when it falls due again.
            self._sent = {key: sent for key, sent in self._sent.items() if key in present}
            self._waiting = {
                key: at for key, at in self._waiting.items() if now - at < MAX_PATIENCE
            }
            found = [key for key in due if self._may_send(key, now)]
            return found[: max(0, MAX_WAITING - len(self._waiting))]

    def note_sent(self, key: Key, *, now: float) -> None:
        """A message is on its way."""
        with self._lock:
            patience = PATIENCE
            if self._own_queue:
                self._waiting[key] = now
            elif key in self._sent:
                patience = min(MAX_PATIENCE, 2 * self._sent[key][1])
            self._sent[key] = now, patience

    def note_unsent(self, key: Key) -> None:
        """The message could not be sent."""
        with self._lock:
            self._sent.pop(key, None)
            self._waiting.pop(key, None)

    def forget(self, runs: Collection[tuple[str, int]]) -> None:
        """The last message about these led to nothing: another may be sent at once."""
        with self._lock:
            self._sent = {key: sent for key, sent in self._sent.items() if key[:2] not in runs}

    def note_received(self, task: str, pk: int) -> None:
        """A message was taken from this process's own queue."""
        with self._lock:
            for key in [key for key in self._waiting if key[:2] == (task, pk)]:
                del self._waiting[key]

    def _may_send(self, key: Key, now: float) -> bool:
        at, patience = self._sent.get(key, (now, 0.0))
        return key not in self._waiting and now - at >= patience


logger = logging.getLogger(__name__)
# Due runs of each kind, benchmark and weight that are looked at: what is taken makes place for the
# next of its equals, and none of them hides another.
_MAX_ALIKE = 20
_LOOP_SECONDS = 1.0
# Between two looks at the file that `wake` touches.
_NAP_SECONDS = 0.2


class Poller(threading.Thread):
    """Looks for due runs when it is called, and every few seconds, and sends their task."""

    def __init__(self) -> None:
        super().__init__(name="poll", daemon=True)
        self._stopped = threading.Event()
        self.messages = Messages(own_queue=not settings.BROKER_URL)
        self.periodic_tasks = PeriodicTasks()
        # When the file was last touched, as far as this thread has seen.
        self._called = 0
        # Set when a run of this process is over: what waited for it may go on.
        self.run_over = threading.Event()

    def run(self) -> None:
        """Poll until stopped; a database or broker that is away for a while is waited for."""
        is_away = False
        with contextlib.suppress(DatabaseError, InterfaceError):  # the first look says it again
            beat()
        while self._wait():
            try:
                close_old_connections()
                self.poll()
                is_away = False
                self.periodic_tasks.do_due(time.monotonic())
            except Exception as error:  # whatever it is, polling must not end
                if not is_away:  # once an outage, not four times a second
                    known = isinstance(error, DatabaseError | InterfaceError | BrokerAway)
                    logger.warning("poll: no look at due work: %s", error, exc_info=not known)
                is_away = True
                connection.close()
        with contextlib.suppress(DatabaseError, InterfaceError):  # its silence says it as well
            leave()
        connection.close()

    def stop(self) -> None:
        """Ask the thread to end after its present look."""
        self._stopped.set()

    def _wait(self) -> bool:
        """Return True when it is time to look: work fell due, or the last look is long ago.

        False once stopped.
        """
        ends_at = time.monotonic() + settings.ASSAY_SWEEP_SECONDS
        while not self._stopped.is_set() and (left := ends_at - time.monotonic()) > 0:
            if self._is_called(left) or self.run_over.is_set():
                break
            if again := turns.may_try_again():
                self.messages.forget(again)
                break
        self.run_over.clear()
        return not self._stopped.is_set()

    def _is_called(self, seconds: float) -> bool:
        """Whether `wake` was called since this was asked last; waits a moment for it."""
        if settings.BROKER_URL:  # which brings the message itself
            self._stopped.wait(min(seconds, _LOOP_SECONDS))
        elif connection.vendor == "postgresql":
            with contextlib.suppress(DatabaseError, InterfaceError):
                return self._is_notified(min(seconds, _LOOP_SECONDS))
            self._stopped.wait(min(seconds, _LOOP_SECONDS))
        else:
            self._stopped.wait(min(seconds, _NAP_SECONDS))
            called = settings.WAKE_FILE.stat().st_mtime_ns if settings.WAKE_FILE.exists() else 0
            before, self._called = self._called, called
            return called != before
        return False

    def _is_notified(self, seconds: float) -> bool:
        with connection.cursor() as cursor, connection.wrap_database_errors:
            cursor.execute(f"LISTEN {CHANNEL}")
            return any(connection.connection.notifies(timeout=seconds, stop_after=1))

    def poll(self) -> int:
        """Send what is due; return how many runs were sent."""
        due = [(model.task_name, pk, led, fence) for model, pk, led, fence in due_runs()]
        to_send = self.messages.to_send(due, now=time.monotonic())
        for key in to_send:
            self._send(key)
        return len(to_send)

    def _send(self, key: Key) -> None:
        # Noted before: this process may have taken it already when the call returns.
        self.messages.note_sent(key, now=time.monotonic())
        try:
            wake_workers(*key[:2])
        except BaseException:
            self.messages.note_unsent(key)
            raise


def due_runs(*, shared: bool = False) -> list[tuple[type[TrackedRun], int, bool, int]]:
    """The first due runs of every kind, each with whether somebody leads it and help is welcome,
    and how often it was claimed; only of kinds that workers share, if asked.

    In the order of their turns; of those with equal claims whoever was claimed least often comes
    first, then the oldest: so a long run that a worker gave back stands behind those that had no
    turn yet.
    """
    found, of_all = [], priorities()
    for model in _live_kinds():
        if shared and not model.is_shared():
            continue
        has_own = any(f.name == "priority" for f in model._meta.fields)
        rows = model.objects.calling().annotate(
            led=~Exists(model.objects.due().filter(pk=OuterRef("pk"))),
            of=F(f"{model.of_benchmark}__slug"),
            said=F("priority") if has_own else Value(None, IntegerField(null=True)),
        )
        large = Case(When(total__gt=turns.SMALL, then=1), default=0)
        alike: list[F | Case] = [F("of"), F("said"), large]
        nth = Window(RowNumber(), partition_by=alike, order_by=["led", "fence", "pk"])
        rows = rows.annotate(nth=nth).filter(nth__lte=_MAX_ALIKE).order_by("fence", "pk")
        names = ("pk", "led", "fence", "of", "said", "total")
        for pk, led, fence, scope, said, total in rows.values_list(*names):
            weight = model.weigh(said, total, of_all.get(scope))
            who = turns.Claimant((model.task_name, pk), scope, weight)
            found.append((who, led, (model, pk, led, fence)))
    return turns.in_order(found)


def _live_kinds() -> list[type[TrackedRun]]:
    """The kinds that have a run which is queued or running.

    Few have at any moment, and one statement tells them: Django takes longer to write down what is
    due of every kind than the database to answer it.
    """
    kinds = run_models()
    live = f"('{RunStatus.QUEUED.value}', '{RunStatus.RUNNING.value}')"
    each = (
        f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {kind._meta.db_table} WHERE status IN {live})"  # noqa: S608
        for number, kind in enumerate(kinds)
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(each))
        return [kinds[number] for number in sorted(row[0] for row in cursor.fetchall())]


def run_models() -> list[type[TrackedRun]]:
    """All concrete kinds of tracked run."""
    return [
        model for model in apps.get_models() if issubclass(model, TrackedRun) and model.task_name
    ]


_pollers: list[Poller] = []


def _start(sender: Any = None, **_: Any) -> None:
    turns.threads = getattr(getattr(sender, "pool", None), "limit", None) or 0
    poller = Poller()
    _pollers.append(poller)
    poller.start()
    _stay_responsive()


def _stay_responsive() -> None:
    """With a broker, Celery's loop sleeps up to ten seconds before it notices a SIGTERM."""
    loop = get_event_loop()
    if loop is not None:
        loop.call_repeatedly(_LOOP_SECONDS, lambda: None)  # type: ignore[no-untyped-call]


def _stop(**_: Any) -> None:
    stopping.set()
    for poller in _pollers:
        poller.stop()


def _received(request: Any, **_: Any) -> None:
    for poller in _pollers:
        for pk in request.args[:1]:
            poller.messages.note_received(request.name, pk)


def _task_ended(**_: Any) -> None:
    if give_back():
        for poller in _pollers:
            poller.run_over.set()


def claimed_task(
    model: type[Any], carry_out: Callable[[Any], object], *related: str
) -> Callable[[int], None]:
    """The task of a kind of run that one worker carries out alone; delivered twice, the second
    finds it claimed."""

    @shared_task(name=model.task_name)
    def take(run_id: int) -> None:
        rows = model.objects.select_related(*related) if related else model.objects.all()
        run = rows.filter(pk=run_id).first()
        if run is not None and run.claim():
            carry_out(run)

    task: Callable[[int], None] = take
    return task


def connect() -> None:
    """Start polling with every Celery worker process and end it with the process."""
    task_received.connect(_received, dispatch_uid="kit.runs.polling.received")
    task_postrun.connect(_task_ended, dispatch_uid="kit.runs.polling.give_back")
    worker_ready.connect(_start, dispatch_uid="kit.runs.polling.start")
    worker_shutting_down.connect(_stop, dispatch_uid="kit.runs.polling.stop")
