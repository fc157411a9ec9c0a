"""Reference answers of queries: versions by people and by models, and what reviewers said."""

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from corpus.models import Query
from llm.models import Call


class AnswerAuthor(models.TextChoices):
    """Whose line of versions an answer belongs to; a query has one of each."""

    PERSON = "person", "a person"
    MODEL = "model", "a model"


class Beginning(models.TextChoices):
    """What a person's answer was begun from."""

    NOTHING = "nothing", "an empty page"
    MODEL = "model", "a model's answer"
    IMPORT = "import", "the answer that came with the query"


class ReferenceAnswerQuerySet(models.QuerySet["ReferenceAnswer"]):
    """Vocabulary for reading answers."""

    def standing(self) -> Self:
        """The last version of each line."""
        return self.filter(stands=True)

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
        return self.by_people().filter(begun_from=Beginning.NOTHING)


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
        max_length=8, choices=Beginning.choices, default=Beginning.NOTHING
    )
    # The version whose text it took over, or began with.
    based_on = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    # Of a model's answer: who was asked what. The raw reply stands in the call.
    endpoint = models.CharField(max_length=60, blank=True, default="")
    model = models.CharField(max_length=120, blank=True, default="")
    prompt_version = models.PositiveIntegerField(default=0)
    prompt_sha256 = models.CharField(max_length=64, blank=True, default="")
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    practice = models.BooleanField(default=False)
    # The version of the guidelines that it was written by; 0: the house's own.
    guideline = models.PositiveIntegerField(default=0)
    is_chosen = models.BooleanField(default=False)
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    # Null: a run wrote it.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
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

    @property
    def is_independent(self) -> bool:
        """Whether a person wrote it without beginning from another answer."""
        return self.author == AnswerAuthor.PERSON and self.begun_from == Beginning.NOTHING


class AnswerVerdict(models.TextChoices):
    """What a reviewer says of an answer."""

    FINE = "fine", "Fine"
    CHANGES = "changes", "Needs changes"


class AnswerReview(models.Model):
    """A second person's word on one version of an answer. Immutable; the last one stands."""

    answer = models.ForeignKey(ReferenceAnswer, on_delete=models.PROTECT, related_name="reviews")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_reviews"
    )
    verdict = models.CharField(max_length=8, choices=AnswerVerdict.choices)
    note = models.TextField(blank=True, default="")
    stands = models.BooleanField(default=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

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
