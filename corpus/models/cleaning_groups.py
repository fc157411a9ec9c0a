"""What several workers share of a cleaning: pieces that one of them holds at a time."""

from typing import Any

from django.db import models
from django.utils import timezone

from corpus.models.cleaning import CleaningRun
from kit.runs import RunQuerySet, RunStatus, TrackedRun


class CleaningGroupQuerySet(RunQuerySet):
    """Vocabulary for reading groups."""

    def working(self) -> Any:
        """The workers that hold a group now, by name."""
        held = self.filter(status=RunStatus.RUNNING, lease_until__gte=timezone.now())
        return held.order_by().values("owner").distinct()


class CleaningGroup(TrackedRun):
    """A stretch of a run under a lease and fence of its own.

    By rules: passages of the source with keys in (after, up_to], of which those up to `last_id`
    are through. With agents: the run's pages with such keys. `figures` are what it came to; the
    run's are their sum. Workers are told of runs, not of groups: it has no task.
    """

    run = models.ForeignKey(CleaningRun, on_delete=models.CASCADE, related_name="groups")
    after = models.BigIntegerField()
    up_to = models.BigIntegerField()
    last_id = models.BigIntegerField(default=0)
    figures = models.JSONField(default=dict)

    objects = CleaningGroupQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["run", "status"], name="cleaning_group_state")]

    def __str__(self) -> str:
        return f"group {self.pk} of {self.run_id}"
