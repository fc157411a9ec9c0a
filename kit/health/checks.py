"""What is looked at to say whether Assay works; what is found names no secret."""

import functools
import shutil
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Case, F, Min, Q, When
from django.template.defaultfilters import filesizeformat, pluralize
from django.utils import timezone

from kit import storage
from kit.runs.models import RunStatus
from kit.runs.polling import run_models
from kit.runs.workers import Worker
from kit.templatetags.figures import duration

# A run that nobody has begun stands before all that had a turn, so it waits for about one turn.
_TURNS: Final = 3
_DUE_SECONDS: Final = 900
# Seconds for which another machine is waited for, and what it said is kept.
_PATIENCE: Final = 2
_KEPT: Final = 30
# How many runs of each kind there are in each state.
Counts = dict[tuple[str, str], int]
_NOT_OVER: Final = (RunStatus.QUEUED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Check:
    """One thing looked at; `is_ok` is None where that cannot be said."""

    name: str
    is_ok: bool | None
    words: str

    @property
    def state(self) -> str:
        """ok, failing or unknown."""
        return {True: "ok", False: "failing", None: "unknown"}[self.is_ok]


def look() -> list[Check]:
    """Every check; a database that is away leaves unknown what is asked of it."""
    try:
        asked = [_workers(), _due_work()]
        database = Check("database", True, "The database answers.")
    except (DatabaseError, InterfaceError):
        words = "Cannot be said without the database."
        asked = [Check(name, None, words) for name in ("workers", "due_work")]
        database = Check("database", False, "The database does not answer.")
    return [database, _disk(), *asked, *_elsewhere()]


def _elsewhere() -> list[Check]:
    """What is asked of other machines, where the settings name them; asked twice a minute."""
    asked = {"storage": _storage} if storage.FILES in settings.STORAGES else {}
    asked |= {"broker": _broker} if settings.BROKER_URL else {}
    found = []
    for name, ask in asked.items():
        kept: Check | None = cache.get(f"kit.health.{name}")
        if kept is None:
            kept = ask()
            cache.set(f"kit.health.{name}", kept, _KEPT)
        found.append(kept)
    return found


def _storage() -> Check:
    try:
        storage.check(_PATIENCE)
    except OSError:
        words = "The storage of files does not answer: nothing is imported, built or downloaded."
        return Check("storage", False, words)
    return Check("storage", True, "The storage of files answers.")


def _broker() -> Check:
    names = ("read_timeout", "write_timeout")
    if settings.BROKER_URL.startswith("redis"):
        names = ("socket_timeout", "socket_connect_timeout")
    broker = current_app.connection_for_write(
        settings.BROKER_URL,
        connect_timeout=_PATIENCE,
        transport_options=dict.fromkeys(names, _PATIENCE),
    )
    try:
        broker.transport.close_connection(broker.transport.establish_connection())
    except (OSError, *broker.connection_errors, *broker.channel_errors):
        words = "The broker does not answer: workers find work only when they look for it, every "
        return Check("broker", False, words + f"{duration(settings.ASSAY_SWEEP_SECONDS)}.")
    return Check("broker", True, "The broker answers.")


def failing() -> list[Check]:
    """The checks that fail, for a notice to those who can do something about it."""
    return [check for check in look() if check.is_ok is False]


def _workers() -> Check:
    count = Worker.objects.alive().count()
    if count:
        return Check("workers", True, f"{count} worker{pluralize(count)} at work.")
    words = "No worker is running: imports, debates, cleanings and releases wait."
    return Check("workers", False, words)


def _due_work() -> Check:
    ages = {kind: (timezone.now() - at).total_seconds() for kind, at in due_since().items()}
    if not ages:
        return Check("due_work", True, "No run waits for a worker.")
    kind = max(ages, key=lambda each: ages[each])
    words = f"The longest waiting run ({kind}) has waited for {duration(ages[kind])}."
    return Check(
        "due_work", ages[kind] <= max(_DUE_SECONDS, _TURNS * settings.ASSAY_PUMP_SECONDS), words
    )


def due_since(runs: Counts | None = None) -> dict[str, datetime]:
    """Since when the oldest run of each kind waits that nobody began, or whose worker is gone.

    Runs that had their turn and wait for the next are not counted: when they were put back is
    written nowhere. `runs` are the `counts`, where they are known.
    """
    known = counts() if runs is None else runs
    not_over = {kind for kind, status in known if status in _NOT_OVER}
    waits = Q(status=RunStatus.QUEUED, started_at=None)
    left = Q(status=RunStatus.RUNNING, lease_until__lt=timezone.now())
    since = Case(When(status=RunStatus.RUNNING, then=F("lease_until")), default=F("created_at"))
    found = {
        model.task_name: model.objects.calling().filter(waits | left).aggregate(at=Min(since))["at"]
        for model in run_models()
        if model.task_name in not_over
    }
    return {kind: at for kind, at in found.items() if at is not None}


def counts() -> Counts:
    """How many runs of each kind are in each state but done and cancelled, in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_counting())
        return {(kind, status): count for kind, status, count in cursor.fetchall()}


@functools.cache
def _counting() -> str:
    """Kept: putting a statement over every kind together takes longer than answering it."""
    of_kind = "SELECT '{}', status, count(*) FROM {} WHERE status IN ({}) GROUP BY status"
    states = ", ".join(f"'{status}'" for status in (*_NOT_OVER, RunStatus.PAUSED, RunStatus.FAILED))
    quote = connection.ops.quote_name
    return " UNION ALL ".join(
        of_kind.format(model.task_name, quote(model._meta.db_table), states)
        for model in run_models()
    )


def _disk() -> Check:
    try:
        free = shutil.disk_usage(settings.ASSAY_DATA).free
    except OSError:
        return Check("disk", False, "The data folder cannot be reached.")
    words = f"{filesizeformat(free)} are free in the data folder."
    return Check("disk", free >= settings.ASSAY_MIN_FREE, words)
