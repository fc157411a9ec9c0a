"""Weights scored blind, in second reviews and in samples (docs/protocol.md 3.1, steps 6 and 7)."""

from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q

from annotate.models.aspects import Aspect, Scale
from annotate.models.reviews import Review
from corpus.models import Benchmark, Query


class RescoreSample(models.Model):
    """Queries drawn to be scored a second time, blind; the same seed draws the same."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="rescore_samples"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sample {self.pk}: {self.size} queries, seed {self.seed}"


class RescoreTask(models.Model):
    """One query of a sample; done by the first reviewer who scores it."""

    sample = models.ForeignKey(RescoreSample, on_delete=models.PROTECT, related_name="tasks")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="rescore_tasks")
    # Place in the queue: the sample's own order, which tells nothing.
    place = models.PositiveIntegerField()
    scorer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
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
    scorer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="weight_scores"
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    weight = models.PositiveSmallIntegerField()
    author_weight = models.PositiveSmallIntegerField()
    # False where that was the weight a new aspect begins with: no opinion of anybody.
    author_weighed = models.BooleanField(default=True, db_default=True)
    scale = models.CharField(max_length=8, choices=Scale.choices)
    review = models.ForeignKey(Review, null=True, on_delete=models.PROTECT, related_name="scores")
    task = models.ForeignKey(
        RescoreTask, null=True, on_delete=models.PROTECT, related_name="scores"
    )
    # The version of the guidelines that it was given by; 0: the house's own.
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
                condition=Q(scale=Scale.LIKERT5, weight__range=(1, 5))
                | Q(scale=Scale.LIKERT3, weight__range=(1, 3)),
                name="score_on_scale",
            ),
        ]

    def __str__(self) -> str:
        return f"score {self.pk} of {self.aspect_id}"
