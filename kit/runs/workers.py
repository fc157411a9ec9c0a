"""Which workers are there: each says so every few seconds in a row of its own."""

from datetime import timedelta
from typing import Final, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from kit.runs.models import worker_id

# Seconds between two beats; they come with a look for due work, so also with ASSAY_SWEEP_SECONDS.
EVERY: Final = 10
_GRACE = 25
_FORGOTTEN_AFTER = timedelta(hours=1)


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Vocabulary for reading workers."""

    def alive(self) -> Self:
        """Those heard from lately."""
        silence = timedelta(seconds=settings.ASSAY_SWEEP_SECONDS + _GRACE)
        return self.filter(heard_at__gt=timezone.now() - silence)


class Worker(models.Model):
    """A worker process, by the name that it has in leases, and when it was last heard from."""

    name = models.CharField(max_length=80, unique=True)
    heard_at = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    class Meta:
        ordering = ["-heard_at"]

    def __str__(self) -> str:
        return self.name


def beat() -> None:
    """Say that this process is there; rows of those long gone are deleted."""
    now = timezone.now()
    Worker.objects.bulk_create(
        [Worker(name=worker_id()[:80], heard_at=now)],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["heard_at"],
    )
    Worker.objects.filter(heard_at__lt=now - _FORGOTTEN_AFTER).delete()


def leave() -> None:
    """Say that this process takes no more work."""
    Worker.objects.filter(name=worker_id()[:80]).delete()
