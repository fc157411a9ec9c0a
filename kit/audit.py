"""Writing events."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import models, transaction

from kit.models import Event


class NoTransaction(RuntimeError):
    """An event was written outside the transaction of its change."""


def record(
    *,
    actor: User | AnonymousUser | None,
    verb: str,
    target: models.Model,
    scope: str = "",
    data: dict[str, Any] | None = None,
) -> Event:
    """Append one event; must run inside the transaction that makes the change.

    Raises NoTransaction otherwise, so that a change can never be kept without its event.
    """
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction(f"record({verb!r}) outside a transaction")
    event = _event(actor, verb, target, scope, data or {})
    event.save(force_insert=True)
    return event


def record_each(
    *,
    actor: User | AnonymousUser | None,
    verb: str,
    changes: Iterable[tuple[models.Model, dict[str, Any]]],
    scope: str = "",
) -> int:
    """Append one event per (target, data) in few statements; otherwise as `record`."""
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction(f"record_each({verb!r}) outside a transaction")
    events = [_event(actor, verb, target, scope, data) for target, data in changes]
    return len(Event.objects.bulk_create(events))


def _event(
    actor: User | AnonymousUser | None,
    verb: str,
    target: models.Model,
    scope: str,
    data: dict[str, Any],
) -> Event:
    return Event(
        actor=actor if isinstance(actor, User) else None,
        verb=verb,
        target_type=target._meta.label_lower,
        target_id=str(target.pk),
        scope=scope,
        data=data,
    )
