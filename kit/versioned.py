"""What rows of several nouns share: keys of people, and optimistic locking.

A stale write is refused with the present row, never half-done.
"""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F
from django.utils import timezone

from kit.errors import Conflict


def by_person(related_name: str = "+", *, null: bool = False) -> "models.ForeignKey[Any, Any]":
    """A key of who did it, or whom it is about; it keeps the account from being deleted."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, null=null, on_delete=models.PROTECT, related_name=related_name
    )


class Versioned(models.Model):
    """A row that several people may edit; `version` counts its writes."""

    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(default=timezone.now)
    updated_by = by_person(null=True)

    class Meta:
        abstract = True

    def write(self, *, expected: int, actor: Any, **fields: Any) -> Self:
        """Set the fields if the row still has version `expected`; return the row as it is now.

        Raises Conflict (carrying the present row) if it was written meanwhile.
        """
        rows = type(self)._default_manager.filter(pk=self.pk, version=expected)
        changed = rows.update(
            version=F("version") + 1, updated_at=timezone.now(), updated_by=actor, **fields
        )
        current = type(self)._default_manager.get(pk=self.pk)
        if not changed:
            raise Conflict(current)
        return current
