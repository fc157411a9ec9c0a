"""What was done to a query's aspects, change by change, each of which can be undone."""

from typing import Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from annotate.models.aspects import Scale
from corpus.models import Benchmark, Passage, Query


class ChangeKind(models.TextChoices):
    """What somebody did (docs/protocol.md 3.1 steps 1, 2 and 5)."""

    ADD = "add", "added"
    CLARIFY = "clarify", "clarified"
    REORDER = "reorder", "reordered"
    REMOVE = "remove", "removed"
    RESTORE = "restore", "brought back"
    SPLIT = "split", "split"
    MERGE = "merge", "merged"
    SCALE = "scale", "moved to another scale"
    UNDO = "undo", "undone"


class AspectChangeQuerySet(models.QuerySet["AspectChange"]):
    """Vocabulary for reading changes."""

    def undoable(self) -> Self:
        """Changes that were not undone yet; that they still can be is seen when it is tried."""
        return self.filter(undone_by=None).exclude(kind=ChangeKind.UNDO)


class AspectChange(models.Model):
    """One change: the aspects it touched, as they were before and after it.

    `before` and `after` are lists of snapshots (annotate/services/changes.py), so that a split
    reads as one row that became two. Writing on in the same sitting extends the row it began.
    """

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="aspect_changes")
    kind = models.CharField(max_length=8, choices=ChangeKind.choices)
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    # The version of the guidelines that it was made by; 0: the house's own.
    guideline = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    undone_by = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="undoes"
    )

    objects = AspectChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.kind} of aspects of query {self.query_id}"

    @property
    def names_before(self) -> str:
        """The numbers of the aspects as they were: "a1, a3"."""
        return ", ".join(f"a{each['k']}" for each in self.before)

    @property
    def names_after(self) -> str:
        """The numbers of the aspects as they became."""
        return ", ".join(f"a{each['k']}" for each in self.after)


FAR = 2  # no source says how far apart two weights are in conflict


class WeightScale(models.Model):
    """How a benchmark weighs aspects: the scale of new ones, and when two weights are in conflict.

    1 to 5, and two points, where there is no row.
    """

    benchmark = models.OneToOneField(
        Benchmark, on_delete=models.PROTECT, related_name="weight_scale"
    )
    scale = models.CharField(max_length=8, choices=Scale.choices, default=Scale.LIKERT5)
    # Points of the scale by which a blind score must differ to come before a third person.
    far = models.PositiveSmallIntegerField(
        default=FAR, db_default=FAR, validators=[MinValueValidator(1), MaxValueValidator(4)]
    )

    def __str__(self) -> str:
        return f"{self.benchmark}: {self.scale}"


class Problem(models.TextChoices):
    """What can be wrong with gold that came from upstream (docs/protocol.md 3.1 step 9)."""

    IRRELEVANT = "irrelevant_gold", "Irrelevant gold"
    INCOMPLETE = "incomplete_gold", "Incomplete gold"
    NOISE = "structural_noise", "Structural noise"
    BROKEN = "semantic_discontinuity", "Semantic discontinuity"


class ProblemTagQuerySet(models.QuerySet["ProblemTag"]):
    """Vocabulary for reading tags."""

    def standing(self) -> Self:
        """Tags that were not taken off."""
        return self.filter(ended_at=None)


class ProblemTag(models.Model):
    """A problem that an expert saw in a query's old gold, as a whole or in one passage."""

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="problem_tags")
    passage = models.ForeignKey(
        Passage, null=True, on_delete=models.PROTECT, related_name="problem_tags"
    )  # null: it is the query's gold as a whole
    problem = models.CharField(max_length=24, choices=Problem.choices)
    note = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    objects = ProblemTagQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query", "passage", "problem"],
                condition=Q(ended_at=None, passage__isnull=False),
                name="problem_of_passage_once",
            ),
            models.UniqueConstraint(
                fields=["query", "problem"],
                condition=Q(ended_at=None, passage__isnull=True),
                name="problem_of_query_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.problem} in query {self.query_id}"
