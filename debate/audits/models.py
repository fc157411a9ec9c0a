"""Samples of agreed pairs that people judge without knowing it: agreement is not truth."""

from django.conf import settings
from django.db import models

from annotate.models import EscalationCase
from debate.runs.models import Debate, DebateRun


class AuditSample(models.Model):
    """A seeded draw among the agreed pairs of a run, in proportion to domain and label, of a
    graded judge also to its grade.

    One `by_error` goes on where earlier audits of the run found labels least sure; in each label it
    is in proportion to domain.

    `population` pairs could be drawn; `left_out` agreed pairs could not, because people had
    judged or were judging them already, or because their text is not loaded.
    """

    run = models.ForeignKey(DebateRun, on_delete=models.PROTECT, related_name="audits")
    seed = models.PositiveIntegerField()
    population = models.PositiveIntegerField()
    left_out = models.PositiveIntegerField()
    by_error = models.BooleanField(default=False, db_default=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"audit {self.pk} of run {self.run_id}"


class AuditItem(models.Model):
    """One drawn pair. The link is stored here alone: neither debate nor case has it."""

    sample = models.ForeignKey(AuditSample, on_delete=models.PROTECT, related_name="items")
    debate = models.ForeignKey(Debate, on_delete=models.PROTECT, related_name="+")
    case = models.OneToOneField(EscalationCase, on_delete=models.PROTECT, related_name="+")
    # What the agents had agreed on when the pair was drawn.
    label = models.SmallIntegerField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "debate"], name="audited_once"),
        ]

    def __str__(self) -> str:
        return f"{self.debate} in {self.sample}"
