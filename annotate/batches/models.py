"""Batches of items that one person judges and submits as a whole."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from annotate.plans.models import AttentionCheck, VotingPlan
from corpus.models import Benchmark
from kit.versioned import by_person


class BatchStatus(models.TextChoices):
    """open -> accepted | rejected when it is submitted, or -> returned."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RETURNED = "returned"


class BatchQuerySet(models.QuerySet["Batch"]):
    """Vocabulary for reading batches."""

    def open(self) -> Self:
        """Batches that people work on now."""
        return self.filter(status=BatchStatus.OPEN)

    def of(self, voter_id: int, benchmark: Benchmark) -> Self:
        """The person's batches in the benchmark."""
        return self.filter(voter=voter_id, plan__benchmark=benchmark)


class Batch(models.Model):
    """What one person took at once; its votes count only once it is accepted."""

    plan = models.ForeignKey(VotingPlan, on_delete=models.PROTECT, related_name="batches")
    voter = by_person("batches")
    status = models.CharField(max_length=8, choices=BatchStatus.choices, default=BatchStatus.OPEN)
    size = models.PositiveSmallIntegerField()
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    # Known once it was submitted: checks answered wrongly, and items whose vote slot was lost.
    failed_checks = models.PositiveSmallIntegerField(default=0)
    lost_items = models.PositiveSmallIntegerField(default=0)

    objects = BatchQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["voter", "plan"],
                condition=Q(status=BatchStatus.OPEN),
                name="one_open_batch",
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether its answers may still be given and changed."""
        return self.status == BatchStatus.OPEN


class BatchItem(models.Model):
    """One item of a batch, a case or a check, with the answer so far.

    The answer stays here whatever becomes of the batch; the vote is made when it is accepted.
    """

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="items")
    place = models.PositiveSmallIntegerField()
    case = models.ForeignKey(
        "EscalationCase", null=True, on_delete=models.PROTECT, related_name="batch_items"
    )
    check_item = models.ForeignKey(
        AttentionCheck, null=True, on_delete=models.PROTECT, related_name="batch_items"
    )
    arm = models.CharField(max_length=5, blank=True, default="")
    # Raised by every answer, so that a page with an older one is found out.
    version = models.PositiveIntegerField(default=0)
    answered_at = models.DateTimeField(null=True)
    label = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True, default="")
    elapsed_ms = models.PositiveIntegerField(null=True)
    committed_at = models.DateTimeField(null=True)
    first_label = models.SmallIntegerField(null=True)
    first_ms = models.PositiveIntegerField(null=True)
    span_start = models.PositiveIntegerField(null=True)
    span_end = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["batch", "place"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "place"], name="one_item_a_place"),
            models.UniqueConstraint(fields=["batch", "case"], name="case_once_a_batch"),
            models.UniqueConstraint(fields=["batch", "check_item"], name="check_once_a_batch"),
            models.CheckConstraint(
                condition=Q(case=None, check_item__isnull=False)
                | Q(case__isnull=False, check_item=None),
                name="item_is_case_or_check",
            ),
            models.CheckConstraint(
                condition=Q(label__isnull=True) | Q(label__in=(0, 1)), name="item_is_binary"
            ),
        ]

    def __str__(self) -> str:
        return f"item {self.place} of batch {self.batch_id}"

    @property
    def is_committed(self) -> bool:
        """Whether the first judgment was given, so that the positions may be seen."""
        return self.committed_at is not None

    @property
    def is_answered(self) -> bool:
        """Whether it has its answer, "cannot be judged" included."""
        return self.answered_at is not None

    @property
    def updated_at(self) -> datetime | None:
        """When something was last said of it."""
        return self.answered_at or self.committed_at

    @property
    def span(self) -> tuple[int, int] | None:
        """The supporting words, code points [start, end)."""
        if self.span_start is None or self.span_end is None:
            return None
        return self.span_start, self.span_end
