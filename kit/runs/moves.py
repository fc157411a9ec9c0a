"""A person's verbs on long work: each a legal move of its state, with an event."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, TrackedRun, wake


def pause_run(*, run: TrackedRun, actor: User | None) -> None:
    """Stop after the items in flight; what is stored stays stored."""
    move_run(run, RunStatus.PAUSED, actor=actor, verb=f"pause {run.noun}")


def resume_run(*, run: TrackedRun, actor: User | None, **fields: Any) -> None:
    """Go on where a paused or failed run stopped; paid answers are not paid again."""
    move_run(run, RunStatus.QUEUED, actor=actor, verb=f"resume {run.noun}", **fields)
    wake(run)


def cancel_run(*, run: TrackedRun, actor: User | None) -> None:
    """Stop for good; what is stored so far stays."""
    move_run(run, RunStatus.CANCELLED, actor=actor, verb=f"cancel {run.noun}")


def retry_items(
    run: TrackedRun,
    items: QuerySet[Any],
    *,
    actor: User | None,
    noun: str,
    nouns: str,
    failed: Collection[str] = ("failed",),
    verb: str = "retry",
    **reset: Any,
) -> None:
    """Let the failed ones of a run that ended wait again, and these alone; `verb` is what a person
    does to them.

    What was answered comes from the ledger and is not paid again. Raises Refused where none failed.
    """
    with transaction.atomic():
        over = (RunStatus.DONE, RunStatus.FAILED)
        verb = f"{verb} failed {nouns}"
        move_run(run, RunStatus.QUEUED, actor=actor, verb=verb, sources=over, error="")
        if not items.filter(state__in=failed).update(state="waiting", error="", **reset):
            raise Refused(f"No {noun} of this run has failed.")
        run.done = items.exclude(state="waiting").count()
        run.save(update_fields=["done"])
        wake(run)


def note(run: TrackedRun, actor: User | None, verb: str, **data: object) -> None:
    """Leave an event of a run; in the transaction of the change."""
    audit.record(actor=actor, verb=verb, target=run, scope=run.scope, data=data)


def move_run(
    run: TrackedRun,
    to: str,
    *,
    actor: User | None,
    verb: str,
    scope: str = "",
    sources: Collection[str] = (),
    data: dict[str, Any] | None = None,
    **fields: Any,
) -> None:
    """Move a run and write down who did it; `sources` and `fields` as TrackedRun.move takes them.

    The event stands where the run's own do, unless `scope` and `data` say otherwise.

    Raises Refused where its state has no such move.
    """
    with transaction.atomic():
        if not run.move(to, sources=sources, **fields):
            noun = str(run._meta.verbose_name).split()[-1]
            raise Refused(f"This {noun} is {run.get_status_display().lower()} already.")  # type: ignore[attr-defined]
        data = run.event_data if data is None else data
        audit.record(actor=actor, verb=verb, target=run, scope=scope or run.scope, data=data)
