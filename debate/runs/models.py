"""Debate runs (many pairs, one configuration), their debates with each turn, and flags of turns."""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q, Value

from annotate.models import Aspect, CaseStatus, EscalationCase, SupportLabel
from corpus.models import Benchmark, Judgment, Passage, Pool, Query
from kit.runs.models import RunQuerySet, RunStatus
from llm.ledger.accounts import AskingRun
from llm.models import Call

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

    `config` holds the whole configuration (runs.configuration.RunConfig); `endpoint`, `model`,
    `rounds`, `temperature` and the prompt's columns repeat what lists show of it: those of the
    first agent and of the main prompt. Labels of a trial run do not stand until an admin adopts
    it, and none of its pairs come before people.
    """

    task_name = "debate.run"
    page_route = "debate-run"
    noun = "debate run"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="debate_runs")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="debate_runs")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=RunKind.choices, default=RunKind.DEBATE)
    # The name in debate.runs.presets, where the run was made from one.
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
    # The run whose disputes it debates again with people's reasons: a trial that nobody adopts.
    reheard_of = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="reheard"
    )
    # Queued, but due only once people have decided what it asked them (live LARA).
    awaits_people = models.BooleanField(default=False, db_default=False)

    objects = DebateRunQuerySet.as_manager()  # type: ignore[misc]

    def __str__(self) -> str:
        return self.name

    def waiting_items(self) -> models.QuerySet[Any]:
        """Debates that have no outcome yet."""
        return self.debates.waiting()

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Every configured model, or the run's own; and the one that is asked instead."""
        choices = [
            (each["endpoint"], each["model"]) for each in self.model_choices
        ] or super().asked
        other = self.config.get("instead")
        return [*choices, (other["endpoint"], other["model"])] if other else choices

    @property
    def is_provisional(self) -> bool:
        """Whether its labels still wait for an admin."""
        return self.is_trial and self.adopted_at is None

    @property
    def model_choices(self) -> list[dict[str, Any]]:
        """Who is asked, as configured: {"model", "endpoint", "stance"}, the adjudicator last."""
        judge = self.config.get("adjudicator")
        agents: list[dict[str, Any]] = self.config.get("agents") or []
        return [*agents, judge] if judge else agents


class DebateStatus(models.TextChoices):
    """waiting -> one of the others, once, by conditional UPDATE (docs/protocol.md 2.0).

    Only measured goes on: to judged or escalated, when the whole run has been measured (LARA).
    `debate.dream.types.Status` says what they mean.
    """

    WAITING = "waiting"
    AGREED = "agreed"
    ADJUDICATED = "adjudicated"
    JUDGED = "judged"
    KEPT = "kept"
    MEASURED = "measured"
    ESCALATED = "escalated"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED_NO_ANSWER = "skipped_no_answer"


# Outcomes with a label, and the only ones.
LABELLED = (DebateStatus.AGREED, DebateStatus.ADJUDICATED, DebateStatus.JUDGED)


class DebateQuerySet(models.QuerySet["Debate"]):
    """Vocabulary for reading debates."""

    def waiting(self) -> Self:
        """Debates that have no outcome yet."""
        return self.filter(status=DebateStatus.WAITING)


class Debate(models.Model):
    """The outcome of one pair. A label exists if and only if the status is one of LABELLED.

    With an `aspect` it is debated whether the passage supports that; what it brings is a label of
    `support`, never a judgment of the pair.
    """

    run = models.ForeignKey(DebateRun, on_delete=models.PROTECT, related_name="debates")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="debates")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="debates")
    aspect = models.ForeignKey(Aspect, null=True, on_delete=models.PROTECT, related_name="debates")
    status = models.CharField(
        max_length=18, choices=DebateStatus.choices, default=DebateStatus.WAITING
    )
    round = models.PositiveSmallIntegerField(null=True)
    label = models.SmallIntegerField(null=True)
    error = models.TextField(blank=True, default="")
    # llm.errors.ErrorClass of a failed or refused debate, for trying one kind of failure again.
    error_class = models.CharField(max_length=20, blank=True, default="", db_default="")
    # What a rule found in addition to the label: LARA's "probability" and number of the "pick", at
    # its end also the label "given" to a pick and the number of "pairs" in the course.
    measures = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    support = models.ForeignKey(SupportLabel, null=True, on_delete=models.PROTECT, related_name="+")
    case = models.ForeignKey(EscalationCase, null=True, on_delete=models.PROTECT, related_name="+")
    # People are shown the pair without the debate, so that audits hide among such cases.
    is_decoy = models.BooleanField(default=False, db_default=False)
    ended_at = models.DateTimeField(null=True)

    objects = DebateQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        # Each serves one query of the screens at a run of 120,000 pairs: a filtered list in the
        # order of its keys, the list sorted by outcome or passage, the counts without the rows,
        # the pace.
        indexes = [
            models.Index(fields=["run", "id"], name="debate_in_order"),
            models.Index(fields=["run", "status", "id"], name="debate_by_status"),
            models.Index(fields=["run", "passage", "id"], name="debate_by_passage"),
            models.Index(fields=["run", "status", "round", "label", "query"], name="debate_counts"),
            models.Index(fields=["run", "ended_at"], name="debate_by_end"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "query", "passage"], condition=Q(aspect=None), name="debate_once"
            ),
            models.UniqueConstraint(
                fields=["run", "aspect", "passage"],
                condition=Q(aspect__isnull=False),
                name="support_debate_once",
            ),
            models.CheckConstraint(
                condition=Q(aspect=None, support=None) | Q(aspect__isnull=False, judgment=None),
                name="debate_labels_one_thing",
            ),
            models.CheckConstraint(
                condition=Q(status__in=LABELLED, label__isnull=False)
                | (~Q(status__in=LABELLED) & Q(label__isnull=True)),
                name="label_iff_labelled",
            ),
        ]

    def __str__(self) -> str:
        return f"debate {self.pk}"


class Turn(models.Model):
    """What one agent or judge answered in one round; the raw text is in its Call."""

    debate = models.ForeignKey(Debate, on_delete=models.CASCADE, related_name="turns")
    round = models.PositiveSmallIntegerField()
    agent = models.CharField(max_length=20)
    # Empty for an adjudicator or a judge, who defends none.
    stance = models.CharField(max_length=12, blank=True, default="")
    response = models.CharField(max_length=3, blank=True, default="")
    label = models.SmallIntegerField(null=True)
    # A grade of 0 to 3, or a probability of relevance, where the rule asks for one.
    score = models.FloatField(null=True)
    reason = models.TextField(blank=True, default="")
    # Quotes as [{text, start, end}], code points in the passage; start null: not in it.
    references = models.JSONField(default=list)
    flags = models.JSONField(default=list)
    rung = models.PositiveSmallIntegerField(null=True)
    prompt_sha256 = models.CharField(max_length=64)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["round", "agent"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "round", "agent"], name="turn_once"),
        ]

    def __str__(self) -> str:
        return f"{self.agent}, round {self.round}"


class DebateFlag(models.Model):
    """A debate of which at least one turn carries the flag (a constant of debate.dream.turns)."""

    run = models.ForeignKey(DebateRun, on_delete=models.CASCADE, related_name="flags")
    debate = models.ForeignKey(Debate, on_delete=models.CASCADE, related_name="+")
    flag = models.CharField(max_length=40)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["run", "flag", "debate"], name="flag_of_run")]
        constraints = [models.UniqueConstraint(fields=["debate", "flag"], name="flag_once")]

    def __str__(self) -> str:
        return f"{self.flag} in {self.debate}"
