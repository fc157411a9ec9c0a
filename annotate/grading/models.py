"""What experts judge blind beside models: answers (docs/protocol.md 3.5), and whether sentences are
supported by what they cite (3.7)."""

from typing import Any, Final, NamedTuple

from django.db import models
from django.db.models import Q

from annotate.answers.models import StandingQuerySet
from corpus.models import Benchmark, Passage, Query
from kit.versioned import by_person

# How far a passage supports a sentence; the weights of TREC RAG's support measure.
VERDICTS = [(2, "fully supported"), (1, "partly supported"), (0, "not supported")]
FULL = 2
WEIGHTS = {0: 0.0, 1: 0.5, FULL: 1.0}


class SampleKind(models.TextChoices):
    """What people are asked about."""

    ANSWERS = "answers", "answers"
    SENTENCES = "sentences", "sentences"
    TRUTHS = "truths", "generated answers"
    LONG = "long", "long generated answers"


class Scale(NamedTuple):
    """What an answer is given beside true ones, instead of a score by aspect: what that is called,
    the points, and what is said of anything else."""

    name: str
    points: tuple[float, ...]
    told: str


# Right or wrong (docs/protocol.md 2.10), and the teacher's points (4.7.5).
SCALES: Final = {
    SampleKind.TRUTHS: Scale("true", (0.0, 1.0), "Say whether it is right."),
    SampleKind.LONG: Scale(
        "covered",
        tuple(float(n) for n in range(0, 101, 10)),
        "Say how much of the reference it covers: 0, 10, 20 and so on up to 100.",
    ),
}


class GradingSample(models.Model):
    """Answers, or sentences of them, drawn to be judged by people; the same seed draws the same.

    Each goes to `people` experts of its query's domain. While `closed_at` is null it takes grades.
    Of sentences, `post_edit` percent are shown with what machines said from the start.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="grading_samples"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    people = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=9, choices=SampleKind.choices, default=SampleKind.ANSWERS)
    post_edit = models.PositiveSmallIntegerField(default=0)
    created_by = by_person()
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = by_person(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sample {self.pk}: {self.size} {self.kind}, seed {self.seed}"


class GradedAnswer(models.Model):
    """One answer of a sample, as it was when it was drawn.

    `origin` says whose it is, to those who drew it and to nobody who scores it. Rows are made in an
    order keyed by the server's secret, so that their numbers say nothing. With `truths`, the true
    answers or the reference of then, it is judged beside these; else by the aspects of its query.
    """

    sample = models.ForeignKey(GradingSample, on_delete=models.PROTECT, related_name="answers")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="graded_answers")
    origin = models.CharField(max_length=60)
    text = models.TextField()
    truths: Any = models.JSONField(default=list, db_default=[])

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "origin"], name="answer_once_a_sample"),
        ]
        indexes = [models.Index(fields=["origin"], name="graded_answer_origin")]

    def __str__(self) -> str:
        return f"answer {self.pk} of sample {self.sample_id}"

    @property
    def scale(self) -> Scale | None:
        """What it is judged by beside `truths`; None: by aspects."""
        return SCALES.get(SampleKind(self.sample.kind))


class AnswerGrade(models.Model):
    """What one person made of an answer by the aspects of its query. Immutable.

    A correction is a new row with a reason. `scores` (0, .5 or 1) and `weights` are by aspect id,
    both as they were at that moment. Beside true answers there is one score, as the answer's scale
    has it, and no quality.
    """

    answer = models.ForeignKey(GradedAnswer, on_delete=models.PROTECT, related_name="grades")
    grader = by_person("answer_grades")
    scores = models.JSONField()
    weights = models.JSONField()
    quality = models.PositiveSmallIntegerField(null=True)
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


class SentenceItem(models.Model):
    """One sentence of an answer with one passage that it cites, as it was when it was drawn.

    `origin` names it where it was drawn from, and `is_reference` says that the answer is a
    reference answer: who wrote one is not asked. `machines` are what machines said, [{run, verdict,
    span}], shown once a person has judged it, and from the start where `is_post_edit`. Rows are
    made in an order keyed by the server's secret.
    """

    sample = models.ForeignKey(GradingSample, on_delete=models.PROTECT, related_name="sentences")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    origin = models.CharField(max_length=60)
    is_reference = models.BooleanField(default=False)
    text = models.TextField()
    context = models.TextField()
    machines: Any = models.JSONField(default=list)
    is_post_edit = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "origin"], name="sentence_once_a_sample"),
        ]
        indexes = [models.Index(fields=["origin"], name="sentence_item_origin")]

    def __str__(self) -> str:
        return f"sentence {self.pk} of sample {self.sample_id}"


class SentenceGrade(models.Model):
    """How far one person says that the passage supports the sentence. Immutable.

    Another verdict is a new row: of whoever saw what machines said in between, or a correction with
    a reason. `first` is the verdict that was given before; null where the machines' stood there
    from the start. Without a verdict the person has only opened such an item. The words
    [start, end) that support it are code points of the passage's text.
    """

    item = models.ForeignKey(SentenceItem, on_delete=models.PROTECT, related_name="grades")
    grader = by_person()
    verdict = models.PositiveSmallIntegerField(null=True, choices=VERDICTS)
    first = models.PositiveSmallIntegerField(null=True, choices=VERDICTS)
    saw_machines = models.BooleanField(default=False)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    reason = models.TextField(blank=True, default="")
    guideline = models.PositiveIntegerField(default=0)
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StandingQuerySet["SentenceGrade"].as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "grader"], condition=Q(stands=True), name="one_standing_sentence"
            ),
            models.CheckConstraint(
                condition=Q(verdict=None) | Q(verdict__range=(0, FULL)), name="sentence_verdict"
            ),
            models.CheckConstraint(
                condition=Q(verdict=None)
                | ~Q(verdict=FULL)
                | Q(start__isnull=False, end__isnull=False, end__gt=models.F("start")),
                name="full_support_has_its_words",
            ),
        ]

    def __str__(self) -> str:
        return f"grade {self.pk} of sentence {self.item_id}"
