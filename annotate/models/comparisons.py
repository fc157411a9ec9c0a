"""Blind comparisons of people's and models' reference answers (docs/protocol.md 3.1 step 8)."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotate.models.reference_answers import ReferenceAnswer
from corpus.models import Benchmark, Query


class AnswerComparisonQuerySet(models.QuerySet["AnswerComparison"]):
    """Vocabulary for reading comparisons."""

    def open(self) -> Self:
        """Those that still take ratings: nobody sees whose answers were rated."""
        return self.filter(closed_at=None)


class AnswerComparison(models.Model):
    """Queries drawn to have a person's and a model's answer rated blind; a seed draws the same."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="answer_comparisons"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    closed_at = models.DateTimeField(null=True)

    objects = AnswerComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark"], condition=Q(closed_at=None), name="one_open_comparison"
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk}: {self.size} queries, seed {self.seed}"

    @property
    def is_open(self) -> bool:
        """Whether it still takes ratings."""
        return self.closed_at is None


class AnswerPair(models.Model):
    """One query of a comparison; both answers are those that stood when it was first rated."""

    comparison = models.ForeignKey(AnswerComparison, on_delete=models.PROTECT, related_name="pairs")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="answer_pairs")
    # Place in the queue: the sample's own order, which tells nothing.
    place = models.PositiveIntegerField()
    human = models.ForeignKey(
        ReferenceAnswer, null=True, on_delete=models.PROTECT, related_name="+"
    )
    model = models.ForeignKey(
        ReferenceAnswer, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["comparison", "place"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "query"], name="answers_compared_once"),
        ]

    def __str__(self) -> str:
        return f"pair {self.pk}"


class Preferred(models.TextChoices):
    """Which answer a rater would rather have."""

    HUMAN = "human", "the person's"
    MODEL = "model", "the model's"
    NEITHER = "neither", "neither"


class AnswerRatingQuerySet(models.QuerySet["AnswerRating"]):
    """Vocabulary for reading ratings."""

    def standing(self) -> Self:
        """Ratings that count."""
        return self.filter(stands=True)


class AnswerRating(models.Model):
    """One rater's points for both answers of a pair, given without knowing whose they are.

    Immutable; a correction is a new row with a reason. `human_first` says in which order the two
    were shown, so that a report can tell what the order did.
    """

    pair = models.ForeignKey(AnswerPair, on_delete=models.PROTECT, related_name="ratings")
    rater = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_ratings"
    )
    human_completeness = models.PositiveSmallIntegerField()
    human_quality = models.PositiveSmallIntegerField()
    model_completeness = models.PositiveSmallIntegerField()
    model_quality = models.PositiveSmallIntegerField()
    preferred = models.CharField(max_length=8, choices=Preferred.choices)
    human_first = models.BooleanField()
    note = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    guideline = models.PositiveIntegerField(default=0)
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AnswerRatingQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "rater"],
                condition=Q(stands=True),
                name="one_standing_rating",
            ),
            models.CheckConstraint(
                condition=Q(human_completeness__range=(1, 5), human_quality__range=(1, 5))
                & Q(model_completeness__range=(1, 5), model_quality__range=(1, 5)),
                name="answer_points_on_scale",
            ),
        ]

    def __str__(self) -> str:
        return f"rating {self.pk} of pair {self.pair_id}"
