"""Decisions of third persons, and messages from admins to voters."""

from typing import Self

from django.db import models
from django.db.models import Q

from annotate.batches.models import Batch
from annotate.support.models import SupportLabel
from annotate.voting.models import EscalationCase
from annotate.workspace.models import Aspect
from corpus.models import Benchmark, Judgment, Passage, Query
from kit.versioned import by_person


class OpenKind(models.TextChoices):
    """What people left open. Reviews are settled in their own turns (ReviewTurn)."""

    MAJORITY = "majority", "No majority"
    UNREADABLE = "unreadable", "Unreadable answer"
    VERDICTS = "verdicts", "Experts differ"
    WEIGHTS = "weights", "Weights far apart"
    REVIEWS = "reviews", "Review in dispute"


class AdjudicationQuerySet(models.QuerySet["Adjudication"]):
    """Vocabulary for reading decisions."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every decision of the benchmark."""
        return self.filter(query__domain__benchmark=benchmark)

    def standing(self) -> Self:
        """Decisions that were not undone."""
        return self.filter(undone_at=None)


class Adjudication(models.Model):
    """One decision of a third person: a label of a pair, or the weight of an aspect.

    `before` is the weight that the aspect had. Undone, never deleted.
    """

    kind = models.CharField(max_length=10, choices=OpenKind.choices)
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="adjudications")
    passage = models.ForeignKey(Passage, null=True, on_delete=models.PROTECT, related_name="+")
    case = models.ForeignKey(EscalationCase, null=True, on_delete=models.PROTECT, related_name="+")
    aspect = models.ForeignKey(Aspect, null=True, on_delete=models.PROTECT, related_name="+")
    label = models.SmallIntegerField(null=True)
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    # In place of the judgment, where the case was about the support of an aspect.
    support = models.ForeignKey(SupportLabel, null=True, on_delete=models.PROTECT, related_name="+")
    weight = models.PositiveSmallIntegerField(null=True)
    before = models.PositiveSmallIntegerField(null=True)
    reason = models.TextField()
    adjudicator = by_person("adjudications")
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True)
    undone_by = by_person(null=True)

    objects = AdjudicationQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query", "passage"],
                condition=Q(undone_at=None, passage__isnull=False, support=None),
                name="one_decision_a_pair",
            ),
            models.UniqueConstraint(
                fields=["case"],
                condition=Q(undone_at=None, support__isnull=False),
                name="one_decision_a_support",
            ),
            models.CheckConstraint(
                condition=Q(
                    passage__isnull=False,
                    label__in=(0, 1),
                    judgment__isnull=False,
                    support=None,
                    aspect=None,
                    weight=None,
                )
                | Q(
                    passage__isnull=False,
                    label__in=(0, 1),
                    judgment=None,
                    support__isnull=False,
                    case__isnull=False,
                    aspect=None,
                    weight=None,
                )
                | Q(
                    aspect__isnull=False,
                    weight__isnull=False,
                    passage=None,
                    label=None,
                    support=None,
                ),
                name="decision_is_label_or_weight",
            ),
        ]

    def __str__(self) -> str:
        return f"decision {self.pk}"

    @property
    def in_words(self) -> str:
        """What was decided about what: "relevant, page_1.txt" or "weight 3, a2 of bees-4"."""
        if self.aspect is not None:
            return f"weight {self.weight}, a{self.aspect.k} of {self.query}"
        assert self.passage is not None  # a constraint says so
        if self.support is not None:
            does = "supports" if self.label else "does not support"
            return f"{self.passage.pid} {does} a{self.support.aspect.k} of {self.query}"
        return f"{'relevant' if self.label else 'not relevant'}, {self.passage.pid}"


class VoterMessageQuerySet(models.QuerySet["VoterMessage"]):
    """Vocabulary for reading messages."""

    def to(self, person_id: int, benchmark: Benchmark) -> Self:
        """The person's messages in the benchmark, the newest first."""
        return self.filter(person=person_id, benchmark=benchmark).order_by("-pk")


class VoterMessage(models.Model):
    """An admin's message to a voter about a batch, a decision, or their work. Never changed."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+")
    person = by_person("voter_messages")
    author = by_person()
    batch = models.ForeignKey(Batch, null=True, on_delete=models.PROTECT, related_name="+")
    case = models.ForeignKey(EscalationCase, null=True, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True)

    objects = VoterMessageQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"message {self.pk}"
