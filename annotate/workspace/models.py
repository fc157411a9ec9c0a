"""A query's aspects and their changes, gold passages, and problem tags (docs/protocol.md 3)."""

from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q

from corpus.importers.fields import QID_LIMIT
from corpus.models import Benchmark, Judgment, Passage, Query
from kit.versioned import Versioned, by_person


class Scale(models.TextChoices):
    """The weight scales of the sources (docs/protocol.md 3.1 step 2).

    A share is kept in hundredths, as the draft of the paper prints them: 25 is .25.
    """

    LIKERT5 = "likert5", "1 to 5"
    LIKERT3 = "likert3", "1 to 3"
    SHARES = "shares", "shares in hundredths"


SCALE_TOP: dict[str, int] = {Scale.LIKERT5: 5, Scale.LIKERT3: 3, Scale.SHARES: 100}


def on_scale(weight: str = "weight") -> Q:
    """The condition of a row whose weight is one of its scale."""
    found = Q()
    for scale, top in SCALE_TOP.items():
        found |= Q(scale=scale, **{f"{weight}__range": (1, top)})
    return found


# What each point of a scale means, in our words (docs/protocol.md 3.1 step 2).
RUBRIC: dict[str, dict[int, str]] = {
    Scale.LIKERT5: {
        5: "Dominant: the core of the reasoning; the main claim stands or falls with it.",
        4: "Strong: key support for the main claim.",
        3: "Moderate: needed to be complete; leaving it out hurts somewhat.",
        2: "Supporting: context of second rank.",
        1: "Peripheral: small, but it means something.",
    },
    Scale.LIKERT3: {3: "Critical.", 2: "Important.", 1: "Minor."},
    # The shares of a query should add up to 100; they are divided by their sum all the same.
    Scale.SHARES: {},
}


# Of rows of a pair, inside a subquery: those of the outer row's pair.
SAME_PAIR = {"query": OuterRef("query"), "passage": OuterRef("passage")}


class AspectQuerySet(models.QuerySet["Aspect"]):
    """Vocabulary for reading aspects."""

    def present(self) -> Self:
        """Aspects that were not removed, in the order people gave them."""
        return self.filter(removed_at=None).order_by("position", "k")


class Aspect(Versioned):
    """One point that a full answer must cover. Keeps its raw weight; shares are computed."""

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="aspects")
    # Number in the id `{task}-{qid}-a{k}`: given once, never used again.
    k = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField(default=0)
    content = models.TextField(blank=True, default="")
    rationale = models.TextField(blank=True, default="")
    weight = models.PositiveSmallIntegerField(default=3, validators=[MinValueValidator(1)])
    scale = models.CharField(max_length=8, choices=Scale.choices, default=Scale.LIKERT5)
    # False while a new aspect still has the weight that it began with: nobody chose it yet.
    weighed = models.BooleanField(default=True, db_default=True)
    # The subtopic of imported judgments that it is, by its name there; "" for any other aspect.
    subtopic = models.CharField(max_length=QID_LIMIT, blank=True, default="", db_default="")
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True)

    objects = AspectQuerySet.as_manager()

    class Meta:
        ordering = ["position", "k"]
        constraints = [
            models.UniqueConstraint(fields=["query", "k"], name="aspect_number_once"),
            models.CheckConstraint(
                condition=on_scale(),
                name="weight_on_scale",
            ),
        ]

    def __str__(self) -> str:
        return self.aspect_id

    @property
    def chosen_weight(self) -> int | None:
        """Its weight, or None while nobody chose one."""
        return self.weight if self.weighed else None

    @property
    def aspect_id(self) -> str:
        """The published id, `{task}-{qid}-a{k}`."""
        return f"{self.query.domain.name}-{self.query.qid}-a{self.k}"


def present_aspects() -> models.QuerySet[Aspect]:
    """Subquery: the present aspects of an outer query."""
    return Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)


class GoldPassageQuerySet(models.QuerySet["GoldPassage"]):
    """Vocabulary for reading gold passages."""

    def standing(self) -> Self:
        """Assignments that count now."""
        return self.filter(ended_at=None)

    def asking(self) -> Self:
        """Standing assignments whose aspect was split or merged: they ask for their new one."""
        return self.standing().filter(aspect__removed_at__isnull=False)

    def unlisted(self) -> Self:
        """Standing assignments of an import that the gold which is current now does not list."""
        listed = Judgment.objects.original().filter(label__gt=0, **SAME_PAIR)
        return self.standing().filter(judgment=None).exclude(Exists(listed))


class GoldPassage(models.Model):
    """One passage that supports one aspect of one query. Ended, never deleted."""

    aspect = models.ForeignKey(Aspect, on_delete=models.PROTECT, related_name="gold_passages")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="gold_passages")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="gold_passages")
    judgment = models.ForeignKey(
        Judgment, null=True, on_delete=models.PROTECT, related_name="+"
    )  # null: the imported gold already has the label
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    # The verdict that ended it, so that taking that verdict back can restore it; null: none did.
    ended_by = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")

    objects = GoldPassageQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query", "passage"], condition=Q(ended_at=None), name="one_aspect_a_passage"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.passage} supports {self.aspect}"


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


class AspectChange(models.Model):
    """One change: the aspects it touched, as they were before and after it.

    `before` and `after` are lists of snapshots (annotate/workspace/changes.py), so that a split
    reads as one row that became two. Writing on within ten minutes extends the row it began.
    """

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="aspect_changes")
    kind = models.CharField(max_length=8, choices=ChangeKind.choices)
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    # The version of the guidelines that it was made by; 0: the default.
    guideline = models.PositiveIntegerField(default=0)
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    undone_by = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="undoes"
    )

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.kind} of aspects of query {self.query_id}"


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
    created_by = by_person(null=True)
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
