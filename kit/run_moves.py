"""A person's verbs on long work: each a legal move of its state, with an event."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from kit import audit
from kit.errors import Refused
from kit.runs import TrackedRun


def move_run(
    run: TrackedRun,
    to: str,
    *,
    actor: User | None,
    verb: str,
    scope: str,
    sources: Collection[str] = (),
    data: dict[str, Any] | None = None,
    **fields: Any,
) -> None:
    """Move a run and write down who did it; `sources` and `fields` as TrackedRun.move takes them.

    Raises Refused where its state has no such move.
    """
    with transaction.atomic():
        if not run.move(to, sources=sources, **fields):
            noun = str(run._meta.verbose_name).split()[-1]
            raise Refused(f"This {noun} is {run.get_status_display().lower()} already.")  # type: ignore[attr-defined]
        audit.record(actor=actor, verb=verb, target=run, scope=scope, data=data)
