"""Trials: pairs of a finished run debated again in another way, without any label as its result."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from corpus.models import Benchmark, Passage, Query
from debate.runs.models import Debate, DebateRun, DebateStatus
from kit.runs.models import TrackedRun


class PromptVersion(models.Model):
    """A prompt that was written on a screen; adopted ones have a version after the file's.

    `text` is a whole template (llm.prompts); it is never changed, a change is another row.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="prompts")
    role = models.CharField(max_length=64)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    version = models.PositiveSmallIntegerField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "role", "sha256"], name="prompt_once"),
            models.UniqueConstraint(
                fields=["benchmark", "role", "version"],
                condition=Q(version__isnull=False),
                name="prompt_version_once",
            ),
        ]

    def __str__(self) -> str:
        named = f"version {self.version}" if self.version else f"draft {self.pk}"
        return f"{self.role}, {named}"


class TrialKind(models.TextChoices):
    """What is other than in the run."""

    PROMPT = "prompt"
    ADVERSARIAL = "canary", "Canary"


class Trial(TrackedRun):
    """A sample of a run's pairs, debated with another prompt or with adversarial passages."""

    task_name = "debate.trial"
    page_route = "trial"
    of_benchmark = "run__benchmark"
    at_screen = True

    run = models.ForeignKey(DebateRun, on_delete=models.PROTECT, related_name="trials")
    kind = models.CharField(max_length=6, choices=TrialKind.choices)
    prompt = models.ForeignKey(
        PromptVersion, null=True, on_delete=models.PROTECT, related_name="trials"
    )
    seed = models.PositiveIntegerField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.kind} trial {self.pk} of run {self.run_id}"

    def waiting_items(self) -> models.QuerySet["TrialItem"]:
        """Pairs that are still to be debated."""
        return self.items.filter(status=DebateStatus.WAITING)

    @property
    def scope(self) -> str:
        """That of its run."""
        return self.run.scope

    @property
    def endpoint(self) -> str:
        """That of its run, by name."""
        return self.run.endpoint

    @property
    def calls_in_flight(self) -> int:
        """As many at a time as its run."""
        return self.run.calls_in_flight

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Whom its run asks."""
        return self.run.asked


class TrialItem(models.Model):
    """One pair of a trial. Its label is no judgment and never becomes one."""

    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="items")
    debate = models.ForeignKey(Debate, on_delete=models.PROTECT, related_name="+")
    # How the passage is altered (debate.trials.adversarial); "" for the passage as it is.
    bait = models.CharField(max_length=20, blank=True, default="")
    status = models.CharField(
        max_length=18, choices=DebateStatus.choices, default=DebateStatus.WAITING
    )
    label = models.SmallIntegerField(null=True)
    round = models.PositiveSmallIntegerField(null=True)
    error = models.TextField(blank=True, default="")
    # Ledger keys of the calls that were read: [[round, agent, call], ...].
    calls = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["trial", "debate", "bait"], name="tried_once"),
        ]

    def __str__(self) -> str:
        return f"{self.debate} in {self.trial}"

    @property
    def query(self) -> Query:
        """Of its debate."""
        return self.debate.query

    @property
    def passage(self) -> Passage:
        """Of its debate, unaltered."""
        return self.debate.passage
