"""A chain of steps over one benchmark, and what each step came to."""

from datetime import timedelta
from typing import Any, Self

from django.apps import apps
from django.db import models
from django.db.models import Q
from django.utils import timezone

from corpus.models import Benchmark
from evaluation.scores.models import ScoreSheet
from kit.runs.models import RunQuerySet, RunStatus, TrackedRun


class ChainQuerySet(RunQuerySet):
    """Vocabulary for reading chains."""

    def due(self) -> Self:
        """Not a chain that waits for its step, until it is time to look again."""
        early = Q(status=RunStatus.QUEUED, look_at__gt=timezone.now())
        return super().due().exclude(early)


class Chain(TrackedRun):
    """Steps that follow each other, each a run of its kind, which goes on by itself.

    `plan` is as it was written; `waits_for` says in words what the present step waits for. While a
    step runs the chain is queued and looked at from time to time: `done` of `total` steps are over.
    """

    task_name = "evaluation.advance_chain"
    page_route = "chain"
    noun = "chain"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="chains")
    name = models.CharField(max_length=200)
    plan = models.TextField()
    budget_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    waits_for = models.TextField(blank=True, default="")
    look_at = models.DateTimeField(null=True)

    objects = ChainQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    def wait(self, seconds: float, words: str) -> None:
        """Give a claimed chain back, to be looked at again after so long. Raises LostLease."""
        again = timezone.now() + timedelta(seconds=seconds)
        self._held(status=RunStatus.QUEUED, lease_until=None, look_at=again, waits_for=words)


class StepState(models.TextChoices):
    """How far a step is; `measuring` while systems are scored over what it left."""

    WAITING = "waiting"
    RUNNING = "running"
    MEASURING = "measuring"
    DONE = "done"


class ChainStep(models.Model):
    """One step: what it is told, the runs that it began, what it left, and what that is worth.

    `works` are [model label, key] of its runs; `outcome` names what later steps go on with (keys
    of versions, runs, pools); `figures` are measured on `sheet` when it is over (effects.py). The
    hashes are SHA-256 of what it was given (settings, and the outputs before it) and of what it
    made.
    """

    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveSmallIntegerField()
    do = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    budget_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    state = models.CharField(max_length=10, choices=StepState.choices, default=StepState.WAITING)
    sheet = models.ForeignKey(ScoreSheet, null=True, on_delete=models.SET_NULL, related_name="+")
    works: Any = models.JSONField(default=list)
    forecast: Any = models.JSONField(default=dict)
    outcome: Any = models.JSONField(default=dict)
    figures: Any = models.JSONField(default=dict)
    input_sha256 = models.CharField(max_length=64, blank=True, default="")
    output_sha256 = models.CharField(max_length=64, blank=True, default="")
    spent_usd = models.DecimalField(max_digits=20, decimal_places=12, default=0)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["chain", "number"], name="chain_step_once")]

    def __str__(self) -> str:
        return f"{self.number}. {self.do}"

    def runs(self) -> list[Any]:
        """The runs that it began, as they are now."""
        found = []
        for label, pk in self.works:
            found += apps.get_model(label).objects.filter(pk=pk)
        return found
