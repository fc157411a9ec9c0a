"""Making training data, as long work: one item a query, and the documents that came of it."""

from typing import Self

from django.db import models

from annotate.models import EscalationCase
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage, Query, RetrievalRun
from evaluation.training import asking
from llm.ledger.accounts import AskingRun
from llm.models import Call


class TrainingRun(AskingRun):
    """Grades the first passages of every query of `source`, takes labels, and writes documents.

    `config` is frozen when it is made. What is written stays here and in exported files: it is no
    passage and no label. `report` says how the written texts stand beside the corpus.
    """

    task_name = "evaluation.make_training_data"
    page_route = "training-run"
    noun = "training data"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="training_runs")
    name = models.CharField(max_length=200)
    # Null: nothing is graded.
    source = models.ForeignKey(
        RetrievalRun, null=True, on_delete=models.PROTECT, related_name="training_runs"
    )
    # That `source` ranks, else the one that was current; null: nothing was loaded.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    config = models.JSONField(default=dict)
    report = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def documents(self) -> "TrainingDocumentQuerySet":
        """All documents of the run."""
        return TrainingDocument.objects.filter(item__run=self)


class ItemState(models.TextChoices):
    """waiting -> made or failed; failed -> waiting, when it is tried again."""

    WAITING = "waiting", "waiting"
    MADE = "made", "made"
    FAILED = "failed", "failed"


class TrainingItem(models.Model):
    """One query of a run."""

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="items")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=ItemState.choices, default=ItemState.WAITING)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "query"], name="trained_on_once")]
        indexes = [models.Index(fields=["run", "state", "id"], name="training_item_waiting")]

    def __str__(self) -> str:
        return f"query {self.query_id} of training data {self.run_id}"


class DocumentKind(models.TextChoices):
    """Where a document comes from."""

    LABELLED = "labelled", "label"
    GRADED = asking.GRADE, "grade"
    POSITIVE = asking.POSITIVE, "written positive"
    NEGATIVE = asking.NEGATIVE, "written negative"


class DocumentUse(models.TextChoices):
    """What it is trained as."""

    POSITIVE = asking.IS_POSITIVE, "positive"
    NEGATIVE = asking.IS_NEGATIVE, "negative"
    DROPPED = asking.IS_DROPPED, "between (4 to 6)"
    REJECTED = asking.IS_REJECTED, "rejected"


class TrainingDocumentQuerySet(models.QuerySet["TrainingDocument"]):
    """Vocabulary for reading documents."""

    def written(self) -> Self:
        """Texts of a model."""
        return self.filter(kind__in=(DocumentKind.POSITIVE, DocumentKind.NEGATIVE))

    def graded_pairs(self) -> Self:
        """Passages that a model called positive or negative."""
        return self.filter(
            kind=DocumentKind.GRADED, use__in=(DocumentUse.POSITIVE, DocumentUse.NEGATIVE)
        )


class TrainingDocument(models.Model):
    """One document for one query: a passage that was graded or labelled, or a written text.

    It leads to the `judgment` or the `call` that it comes from. `leak` is {"passage" or "query":
    key, "share", "is_gold"} of what a written text repeats; `case` is what people were asked.
    """

    item = models.ForeignKey(TrainingItem, on_delete=models.CASCADE, related_name="documents")
    kind = models.CharField(max_length=14, choices=DocumentKind.choices)
    use = models.CharField(max_length=8, choices=DocumentUse.choices)
    passage = models.ForeignKey(Passage, null=True, on_delete=models.PROTECT, related_name="+")
    title = models.TextField(blank=True, default="")
    text = models.TextField(blank=True, default="")
    language = models.CharField(max_length=20, blank=True, default="")
    score = models.FloatField(null=True)
    reason = models.TextField(blank=True, default="")
    # Why it is rejected.
    fault = models.TextField(blank=True, default="")
    leak = models.JSONField(default=dict)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    case = models.OneToOneField(
        EscalationCase, null=True, on_delete=models.PROTECT, related_name="+"
    )

    objects = TrainingDocumentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["item", "kind", "use"], name="training_document_use")]

    def __str__(self) -> str:
        return f"document {self.pk} for {self.item}"

    @property
    def is_written(self) -> bool:
        """Whether a model wrote it."""
        return self.kind in (DocumentKind.POSITIVE, DocumentKind.NEGATIVE)

    @property
    def whole(self) -> str:
        """Title and text of a written document, as it is trained on."""
        return f"{self.title}\n{self.text}" if self.title else self.text
