"""Events of votes, cases and batches."""

from typing import Any

from django.contrib.auth.models import User
from django.db import models

from annotate.models import EscalationCase
from kit import audit


def note(
    verb: str, target: models.Model, actor: User | None, about: EscalationCase, **data: Any
) -> None:
    """Record an event in a scope of its own: a benchmark's events are read by voters too."""
    scope = f"{about.query.domain.benchmark.slug}#votes"
    audit.record(actor=actor, verb=verb, target=target, scope=scope, data=data)
