"""Experiments: several debate runs over the same pairs, compared with one reference."""

from django.conf import settings
from django.db import models

from corpus.models import Benchmark
from debate.models import DebateRun


class Experiment(models.Model):
    """A comparison that is measured anew whenever it is read; it holds no label of its own."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="experiments")
    name = models.CharField(max_length=120)
    # A key of debate.references: people, experts or gold-ID.
    reference = models.CharField(max_length=40)
    runs = models.ManyToManyField(DebateRun, related_name="experiments")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="experiment_once")
        ]

    def __str__(self) -> str:
        return self.name
