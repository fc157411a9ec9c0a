"""One debate over one pair, and what each agent said in each round."""

from typing import Self

from django.db import models
from django.db.models import Q, Value

from annotate.models import EscalationCase
from corpus.models import Judgment, Passage, Query
from debate.models.runs import DebateRun
from llm.models import Call


class DebateStatus(models.TextChoices):
    """waiting -> one of the others, once, by conditional UPDATE (docs/protocol.md 2.0).

    Only measured goes on: to judged or escalated, when the whole run has been measured (LARA).
    What the words mean stands at `debate.dream.types.Status`.
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
    """The outcome of one pair. A label exists if and only if the status is one of LABELLED."""

    run = models.ForeignKey(DebateRun, on_delete=models.PROTECT, related_name="debates")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="debates")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="debates")
    status = models.CharField(
        max_length=18, choices=DebateStatus.choices, default=DebateStatus.WAITING
    )
    round = models.PositiveSmallIntegerField(null=True)
    label = models.SmallIntegerField(null=True)
    error = models.TextField(blank=True, default="")
    # llm.errors.ErrorClass of a failed or refused debate, for trying one kind of failure again.
    error_class = models.CharField(max_length=20, blank=True, default="", db_default="")
    # What a rule found beside the label: LARA's "probability" and number of the "pick", at its
    # end also the label "given" to a pick and the number of "pairs" in the course.
    measures = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    case = models.ForeignKey(EscalationCase, null=True, on_delete=models.PROTECT, related_name="+")
    # People are shown the pair without the debate, so that audits hide among such cases.
    is_decoy = models.BooleanField(default=False, db_default=False)
    ended_at = models.DateTimeField(null=True)

    objects = DebateQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        # Each carries one look of the screens at a run of 120,000 pairs: a filtered list in the
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
            models.UniqueConstraint(fields=["run", "query", "passage"], name="debate_once"),
            models.CheckConstraint(
                condition=Q(status__in=LABELLED, label__isnull=False)
                | (~Q(status__in=LABELLED) & Q(label__isnull=True)),
                name="label_iff_labelled",
            ),
        ]

    def __str__(self) -> str:
        return f"debate {self.pk}"


class Turn(models.Model):
    """What one agent or judge answered in one round; the raw text stands in its Call."""

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
