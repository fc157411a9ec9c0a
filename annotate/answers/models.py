"""Reference answers by people and models, and their comparisons (docs/protocol.md 3.1)."""

from datetime import datetime
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q

from corpus.models import Benchmark, Query
from kit.versioned import by_person
from llm.models import Call


class AnswerAuthor(models.TextChoices):
    """Whose line of versions an answer belongs to; a query has one of each."""

    PERSON = "person", "a person"
    MODEL = "model", "a model"


class StartedFrom(models.TextChoices):
    """What a person's answer was started from."""

    NOTHING = "nothing", "an empty page"
    MODEL = "model", "a model's answer"
    IMPORT = "import", "the answer that came with the query"


_Row = TypeVar("_Row", bound=models.Model)


class StandingQuerySet(models.QuerySet[_Row]):
    """Rows that are never changed: a correction is another one, which supersedes it."""

    def standing(self) -> Self:
        """Those that count: the last of each line."""
        return self.filter(stands=True)

    def supersede(self, **fields: Any) -> _Row:
        """Add a row in place of the one that stands among these, which is kept."""
        rows = self.model._default_manager
        replaced = rows.filter(pk__in=list(self.standing().values_list("pk", flat=True)))
        replaced.update(stands=False)
        new = rows.create(**fields)
        replaced.update(superseded_by=new)
        return new


class ReferenceAnswerQuerySet(StandingQuerySet["ReferenceAnswer"]):
    """Vocabulary for reading answers."""

    def chosen(self) -> Self:
        """Those that releases publish."""
        return self.filter(is_chosen=True)

    def by_people(self) -> Self:
        """Versions that people wrote."""
        return self.filter(author=AnswerAuthor.PERSON)

    def by_models(self) -> Self:
        """Versions that models wrote."""
        return self.filter(author=AnswerAuthor.MODEL)

    def independent(self) -> Self:
        """People's answers that nobody began from a model's or an imported one."""
        return self.by_people().filter(begun_from=StartedFrom.NOTHING)


class ReferenceAnswer(models.Model):
    """One version of an answer with citations `[passage id]` (docs/protocol.md 3.1), immutable.

    A correction is a new row, which supersedes the one before it in its line. `is_chosen` marks the
    one version that releases publish, whether it still stands or not: what a model writes anew is
    published only when a person says so. Without one they publish what came with the query.
    """

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="written_answers")
    author = models.CharField(max_length=8, choices=AnswerAuthor.choices)
    # Counts the versions of its line from 1.
    version = models.PositiveIntegerField()
    text = models.TextField()
    # Why a correction was made, where somebody said so.
    reason = models.TextField(blank=True, default="")
    begun_from = models.CharField(
        max_length=8, choices=StartedFrom.choices, default=StartedFrom.NOTHING
    )
    # The version whose text it took over, or started from.
    based_on = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    # Of a model's answer: who was asked what. The raw reply is in the call.
    endpoint = models.CharField(max_length=60, blank=True, default="")
    model = models.CharField(max_length=120, blank=True, default="")
    prompt_version = models.PositiveIntegerField(default=0)
    prompt_sha256 = models.CharField(max_length=64, blank=True, default="")
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    practice = models.BooleanField(default=False)
    # The version of the guidelines that it was written by; 0: the default.
    guideline = models.PositiveIntegerField(default=0)
    is_chosen = models.BooleanField(default=False)
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    # Null: a run wrote it.
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ReferenceAnswerQuerySet.as_manager()

    class Meta:
        ordering = ["query", "author", "version"]
        constraints = [
            models.UniqueConstraint(
                fields=["query", "author", "version"], name="answer_version_once"
            ),
            models.UniqueConstraint(
                fields=["query", "author"],
                condition=Q(stands=True),
                name="one_standing_answer",
            ),
            models.UniqueConstraint(
                fields=["query"], condition=Q(is_chosen=True), name="one_chosen_answer"
            ),
            models.CheckConstraint(
                condition=Q(author=AnswerAuthor.PERSON, model="", created_by__isnull=False)
                | (Q(author=AnswerAuthor.MODEL) & ~Q(model="")),
                name="answer_has_its_author",
            ),
        ]

    def __str__(self) -> str:
        return f"answer {self.pk} of query {self.query_id}"

    @property
    def updated_at(self) -> datetime:
        """When it was written; under the name by which a stale write is answered."""
        return self.created_at


class AnswerVerdict(models.TextChoices):
    """What a reviewer says of an answer."""

    FINE = "fine", "Fine"
    CHANGES = "changes", "Needs changes"


class AnswerReview(models.Model):
    """A second person's verdict on one version of an answer. Immutable; the last one counts."""

    answer = models.ForeignKey(ReferenceAnswer, on_delete=models.PROTECT, related_name="reviews")
    reviewer = by_person("answer_reviews")
    verdict = models.CharField(max_length=8, choices=AnswerVerdict.choices)
    note = models.TextField(blank=True, default="")
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StandingQuerySet["AnswerReview"].as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["answer", "reviewer"],
                condition=Q(stands=True),
                name="one_standing_answer_review",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} on answer {self.answer_id}"


class AnswerComparison(models.Model):
    """Queries drawn to have a person's and a model's answer rated blind; a seed draws the same.

    While `closed_at` is null it takes ratings, and nobody sees whose answers were rated.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="answer_comparisons"
    )
    seed = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    created_by = by_person()
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = by_person(null=True)
    closed_at = models.DateTimeField(null=True)

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
    """One query of a comparison; both answers are the standing ones of when it was first rated."""

    comparison = models.ForeignKey(AnswerComparison, on_delete=models.PROTECT, related_name="pairs")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="answer_pairs")
    # Place in the queue: the sample's own order, which says nothing.
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


class AnswerRating(models.Model):
    """One rater's points for both answers of a pair, given without knowing whose they are.

    Immutable; a correction is a new row with a reason. `human_first` says in which order the two
    were shown, so that a report can tell what the order did.
    """

    pair = models.ForeignKey(AnswerPair, on_delete=models.PROTECT, related_name="ratings")
    rater = by_person("answer_ratings")
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

    objects = StandingQuerySet["AnswerRating"].as_manager()

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
