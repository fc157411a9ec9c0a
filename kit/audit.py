"""Writing events."""

import json
from collections.abc import Iterable
from datetime import date
from hashlib import sha256
from typing import Any, TypeAlias

from django.contrib.auth.models import AnonymousUser, User
from django.db import models, transaction
from django.dispatch import Signal
from django.http import HttpRequest

from kit.health.logs import request_now
from kit.models import ApiToken, Event

# In a session: the key of the sign-in link by somebody else with which it began.
BY_OTHER = "link_by_other"


Target: TypeAlias = models.Model | tuple[str, str]

# Sent with `scope` and `verb` before events are written; a receiver may raise Refused.
recording = Signal()


class NoTransaction(RuntimeError):
    """An event was written outside the transaction of its change."""


def record(
    actor: User | AnonymousUser | None,
    verb: str,
    target: Target,
    scope: str = "",
    data: dict[str, Any] | None = None,
) -> Event:
    """Append one event; must run inside the transaction that makes the change.

    `target` is a row, or the kind and the name of what has none.
    Raises NoTransaction otherwise, so that a change can never be kept without its event.
    """
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction(f"record({verb!r}) outside a transaction")
    recording.send(sender=None, scope=scope, verb=verb)
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
    recording.send(sender=None, scope=scope, verb=verb)
    events = [_event(actor, verb, target, scope, data) for target, data in changes]
    return len(Event.objects.bulk_create(events))


def record_once(
    *, actor: User, verb: str, target: models.Model, scope: str, data: dict[str, Any], day: date
) -> None:
    """Note what changed nothing, such as a read: one event a day, whoever asks how often.

    It is nobody's decision: a sign-in link by somebody else stands among the details alone.
    """
    event = _event(actor, verb, target, scope, data)
    if event.link_id is not None:
        event.data, event.link_id = {**data, "link": event.link_id}, None
    key = [actor.pk, verb, event.target_type, event.target_id, scope, data, day.isoformat()]
    event.once = sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    Event.objects.bulk_create([event], ignore_conflicts=True)


def link_of(request: HttpRequest | None) -> int | None:
    """Key of the sign-in link by somebody else through which this request came, if one did.

    Its session began with it, or its API token was made in such a session.
    """
    if request is None:
        return None
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken):
        return token.link_id
    session = getattr(request, "session", None)
    return session.get(BY_OTHER) if session is not None else None


def _link_of_actor(actor: User) -> int | None:
    request = request_now.get()
    person = getattr(request, "user", None)
    return link_of(request) if person is not None and person.pk == actor.pk else None


def _event(
    actor: User | AnonymousUser | None,
    verb: str,
    target: Target,
    scope: str,
    data: dict[str, Any],
) -> Event:
    person = actor if isinstance(actor, User) else None
    if not isinstance(target, tuple):
        target = target._meta.label_lower, str(target.pk)
    return Event(
        actor=person,
        link_id=_link_of_actor(person) if person is not None else None,
        verb=verb,
        target_type=target[0],
        target_id=target[1],
        scope=scope,
        data=data,
    )
