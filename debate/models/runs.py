"""A debate run: many pairs, one configuration."""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from annotate.models import CaseStatus
from corpus.models import Benchmark, Pool
from kit.runs import RunQuerySet, RunStatus
from llm.ledger.accounts import AskingRun

# A turn has three short parts; reasoning models think some hundreds of tokens before it.
MAX_TOKENS = 2000


class RunKind(models.TextChoices):
    """Which rule a run puts its pairs through (docs/protocol.md 2.2, 2.3, 2.8, 2.9)."""

    DEBATE = "debate"
    FILTER = "filter"
    LLMJUDGE = "llmjudge", "LLMJudge"
    GRADED = "graded", "Graded judge"
    VOTE = "vote", "Votes without debate"
    LARA = "lara", "LARA"
    HUMAN_ONLY = "human_only", "People alone"


class DebateRunQuerySet(RunQuerySet):
    """Vocabulary for reading debate runs."""

    def due(self) -> Self:
        """Not a run that waits for people, until every pair before them is decided."""
        debates = DebateRun.debates.rel.related_model.objects  # type: ignore[attr-defined]
        before_people = debates.filter(run=OuterRef("pk"), status="escalated", case__isnull=False)
        undecided = before_people.exclude(case__status=CaseStatus.CLOSED)
        waits = Q(status=RunStatus.QUEUED, awaits_people=True)
        return super().due().exclude(waits, Exists(undecided))


class DebateRun(AskingRun):
    """Puts every pair of a pool through one rule, configured and frozen when the run is made.

    `config` holds the whole configuration (debate.configuration.RunConfig); `endpoint`, `model`,
    `rounds`, `temperature` and the prompt's columns repeat what lists show of it: those of the
    first agent and of the main prompt. Labels of a trial run do not stand until an admin adopts
    it, and none of its pairs come before people.
    """

    task_name = "debate.run"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="debate_runs")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="debate_runs")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=RunKind.choices, default=RunKind.DEBATE)
    # The name in debate.services.presets, where the run was made from one.
    preset = models.CharField(max_length=40, blank=True, default="")
    config = models.JSONField(default=dict)
    is_trial = models.BooleanField(default=False)
    adopted_at = models.DateTimeField(null=True)
    adopted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    rounds = models.PositiveSmallIntegerField(default=2)
    temperature = models.FloatField(default=0.0)
    prompt_version = models.PositiveSmallIntegerField(default=1)
    prompt_sha256 = models.CharField(max_length=64)

    # An answer's length at most, where the configuration names none: without one no call has an
    # upper bound, and no budget could be kept.
    max_tokens = models.PositiveIntegerField(default=MAX_TOKENS)
    # Queued, but due only once people have decided what it asked them (live LARA).
    awaits_people = models.BooleanField(default=False, db_default=False)

    objects = DebateRunQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    def waiting_items(self) -> models.QuerySet[Any]:
        """Debates that have no outcome yet."""
        return self.debates.waiting()

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Every seat that is configured, or who stands for them all; and who is asked instead."""
        seats = [(each["endpoint"], each["model"]) for each in self.seats] or super().asked
        other = self.config.get("instead")
        return [*seats, (other["endpoint"], other["model"])] if other else seats

    @property
    def is_provisional(self) -> bool:
        """Whether its labels still wait for an admin."""
        return self.is_trial and self.adopted_at is None

    @property
    def seats(self) -> list[dict[str, Any]]:
        """Who is asked, as configured: {"model", "endpoint", "stance"}, the adjudicator last."""
        judge = self.config.get("adjudicator")
        agents: list[dict[str, Any]] = self.config.get("agents") or []
        return [*agents, judge] if judge else agents
