"""Answers that experts score blind, beside a model that judges them (docs/protocol.md 3.5)."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotate.answers.models import StandingQuerySet
from corpus.models import Benchmark, Query


class GradingSample(models.Model):
    """Answers drawn to be scored by people; the same seed draws the same.

    Each goes to `people` experts of its query's domain. While `closed_at` is null it takes grades.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="grading_samples"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    people = models.PositiveSmallIntegerField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sample {self.pk}: {self.size} answers, seed {self.seed}"


class GradedAnswer(models.Model):
    """One answer of a sample, as it was when it was drawn.

    `origin` says whose it is, to those who drew it and to nobody who scores it. Rows are made in an
    order keyed by the server's secret, so that their numbers say nothing.
    """

    sample = models.ForeignKey(GradingSample, on_delete=models.PROTECT, related_name="answers")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="graded_answers")
    origin = models.CharField(max_length=60)
    text = models.TextField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "origin"], name="answer_once_a_sample"),
        ]
        indexes = [models.Index(fields=["origin"], name="graded_answer_origin")]

    def __str__(self) -> str:
        return f"answer {self.pk} of sample {self.sample_id}"


class AnswerGrade(models.Model):
    """What one person made of an answer by the aspects of its query. Immutable.

    A correction is a new row with a reason. `scores` (0, .5 or 1) and `weights` are by aspect id,
    both as they were at that moment.
    """

    answer = models.ForeignKey(GradedAnswer, on_delete=models.PROTECT, related_name="grades")
    grader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_grades"
    )
    scores = models.JSONField()
    weights = models.JSONField()
    quality = models.PositiveSmallIntegerField()
    note = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    guideline = models.PositiveIntegerField(default=0)
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StandingQuerySet["AnswerGrade"].as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["answer", "grader"], condition=Q(stands=True), name="one_standing_grade"
            ),
            models.CheckConstraint(
                condition=Q(quality__range=(1, 5)), name="quality_of_grade_on_scale"
            ),
        ]

    def __str__(self) -> str:
        return f"grade {self.pk} of answer {self.answer_id}"
