"""Second reviews, and weights scored blind (docs/protocol.md 3.1, steps 6 and 7)."""

from typing import Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q

from annotate.workspace.models import Aspect, Scale, on_scale
from corpus.models import Benchmark, Passage, Query
from kit.versioned import by_person


class ReviewStatus(models.TextChoices):
    """blind -> checking <-> changes -> (checking) -> third -> checking -> accepted.

    Whose turn it is: the reviewer's in blind and checking, the author's in changes, the third
    person's in third. A review that is given up is dropped; the query waits for another.
    """

    BLIND = "blind"
    CHECKING = "checking"
    CHANGES = "changes"
    THIRD = "third"
    ACCEPTED = "accepted"
    DROPPED = "dropped"


OVER = (ReviewStatus.ACCEPTED, ReviewStatus.DROPPED)
MOVES: dict[str, frozenset[str]] = {
    ReviewStatus.BLIND: frozenset({ReviewStatus.CHECKING, ReviewStatus.DROPPED}),
    ReviewStatus.CHECKING: frozenset(
        {ReviewStatus.CHANGES, ReviewStatus.THIRD, ReviewStatus.ACCEPTED, ReviewStatus.DROPPED}
    ),
    ReviewStatus.CHANGES: frozenset({ReviewStatus.CHECKING, ReviewStatus.DROPPED}),
    ReviewStatus.THIRD: frozenset({ReviewStatus.CHECKING, ReviewStatus.DROPPED}),
    ReviewStatus.ACCEPTED: frozenset(),
    ReviewStatus.DROPPED: frozenset(),
}


class ReviewQuerySet(models.QuerySet["Review"]):
    """Vocabulary for reading reviews."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every review of the benchmark."""
        return self.filter(query__domain__benchmark=benchmark)

    def open(self) -> Self:
        """Reviews that still go on."""
        return self.exclude(status__in=OVER)

    def with_people(self) -> Self:
        """With everything that a page or a move reads of them."""
        return self.select_related("query__domain__benchmark", "reviewer", "author", "third")


class Review(models.Model):
    """Somebody else checks one query's aspects, weights and passages."""

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="reviews")
    reviewer = by_person("reviews")
    # Who answers for the query; null where an import brought it and nobody wrote on it since.
    author = by_person(null=True)
    # Who settles what author and reviewer cannot.
    third = by_person(null=True)
    status = models.CharField(
        max_length=8, choices=ReviewStatus.choices, default=ReviewStatus.BLIND
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query"],
                condition=~Q(status__in=OVER),
                name="one_open_review",
            ),
            models.CheckConstraint(
                condition=Q(author__isnull=True) | ~Q(reviewer=F("author")),
                name="reviewer_is_not_author",
            ),
            models.CheckConstraint(
                condition=Q(third__isnull=True) | ~Q(third=F("reviewer")),
                name="third_is_not_reviewer",
            ),
            models.CheckConstraint(
                condition=Q(third__isnull=True) | Q(author__isnull=True) | ~Q(third=F("author")),
                name="third_is_not_author",
            ),
        ]

    def __str__(self) -> str:
        return f"review of {self.query}"


class PointKind(models.TextChoices):
    """What a point of a review is about."""

    ASPECTS = "aspects"
    WEIGHT = "weight"
    PASSAGE = "passage"


# Four questions about the aspects as a whole (docs/protocol.md 3.1 step 6).
ASPECT_CHECKS: dict[str, str] = {
    "comprehensive": "Together the aspects cover what a full answer needs.",
    "balanced": "No aspect is much larger or smaller than the others without need.",
    "sound": "Every aspect is true to the query and holds by itself.",
    "granularity": "No aspect should be split, and no two should be one.",
}
# Three questions about every passage.
PASSAGE_CHECKS: dict[str, str] = {
    "explicit": "It states the aspect; nobody has to infer it.",
    "credible": "Its source can be trusted for this.",
    "relevant": "It is directly about the aspect.",
}


class PointStatus(models.TextChoices):
    """fine: nothing to change. raised -> agreed, or objected -> settled (or agreed)."""

    FINE = "fine"
    RAISED = "raised"
    AGREED = "agreed"
    OBJECTED = "objected"
    SETTLED = "settled"


class ReviewPoint(models.Model):
    """One point of a review and its state; how it got there is in its turns.

    `key` is the check of the aspects, or "" where `aspect` or `passage` says what it is about.
    `change` holds what the reviewer did: {"from": 4, "to": 2} or {"judgment": 12}.
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="points")
    kind = models.CharField(max_length=8, choices=PointKind.choices)
    key = models.CharField(max_length=20, blank=True, default="")
    aspect = models.ForeignKey(Aspect, null=True, on_delete=models.PROTECT, related_name="+")
    passage = models.ForeignKey(Passage, null=True, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=8, choices=PointStatus.choices)
    note = models.TextField(blank=True, default="")
    change = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["review", "key"], condition=~Q(key=""), name="aspects_point_once"
            ),
            models.UniqueConstraint(
                fields=["review", "aspect"],
                condition=Q(aspect__isnull=False),
                name="weight_point_once",
            ),
            models.UniqueConstraint(
                fields=["review", "passage"],
                condition=Q(passage__isnull=False),
                name="passage_point_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} point {self.pk}"


class ReviewTurn(models.Model):
    """What somebody said or did in a review: append-only."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="turns")
    point = models.ForeignKey(
        ReviewPoint, null=True, on_delete=models.PROTECT, related_name="turns"
    )
    actor = by_person()
    part = models.CharField(max_length=8)  # reviewer, author or third
    verb = models.CharField(max_length=24)
    text = models.TextField(blank=True, default="")
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.part}: {self.verb}"

    def save(self, *args: object, **kwargs: object) -> None:
        """Refuse to write over what was said."""
        if self.pk is not None:
            raise TypeError("Turns of a review are append-only.")
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class RescoreSample(models.Model):
    """Queries drawn to be scored a second time, blind; the same seed draws the same."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="rescore_samples"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sample {self.pk}: {self.size} queries, seed {self.seed}"


class RescoreTask(models.Model):
    """One query of a sample; done by the first reviewer who scores it."""

    sample = models.ForeignKey(RescoreSample, on_delete=models.PROTECT, related_name="tasks")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="rescore_tasks")
    # Place in the queue: the sample's own order, which says nothing.
    place = models.PositiveIntegerField()
    scorer = by_person(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["sample", "place"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "query"], name="query_once_a_sample"),
        ]

    def __str__(self) -> str:
        return f"task {self.pk}"


class WeightScoreQuerySet(models.QuerySet["WeightScore"]):
    """Vocabulary for reading blind scores."""

    def standing(self) -> Self:
        """Scores that count."""
        return self.filter(superseded_by=None)

    def by(self, person: User) -> Self:
        """The person's own."""
        return self.filter(scorer=person)


class WeightScore(models.Model):
    """A weight that somebody gave an aspect without seeing the author's. Immutable.

    `author_weight` is the author's raw weight at that moment, so that agreement compares what
    stood then, whatever the review changes. Exactly one of `review` and `task` is set.
    """

    aspect = models.ForeignKey(Aspect, on_delete=models.PROTECT, related_name="scores")
    scorer = by_person("weight_scores")
    author = by_person(null=True)
    weight = models.PositiveSmallIntegerField()
    author_weight = models.PositiveSmallIntegerField()
    # False where that was the weight a new aspect begins with: no opinion of anybody.
    author_weighed = models.BooleanField(default=True, db_default=True)
    scale = models.CharField(max_length=8, choices=Scale.choices)
    review = models.ForeignKey(Review, null=True, on_delete=models.PROTECT, related_name="scores")
    task = models.ForeignKey(
        RescoreTask, null=True, on_delete=models.PROTECT, related_name="scores"
    )
    # The version of the guidelines that it was given by; 0: the default.
    guideline = models.PositiveIntegerField(default=0)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WeightScoreQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["aspect", "scorer"],
                condition=Q(superseded_by=None),
                name="one_standing_score",
            ),
            models.CheckConstraint(
                condition=Q(author__isnull=True) | ~Q(scorer=F("author")),
                name="scorer_is_not_author",
            ),
            models.CheckConstraint(
                condition=Q(review__isnull=True, task__isnull=False)
                | Q(review__isnull=False, task__isnull=True),
                name="score_has_one_purpose",
            ),
            models.CheckConstraint(
                condition=on_scale(),
                name="score_on_scale",
            ),
        ]

    def __str__(self) -> str:
        return f"score {self.pk} of {self.aspect_id}"
