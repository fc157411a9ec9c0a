"""Reranking a retrieval run, as long work: one item a query."""

from statistics import fmean

from django.db import models

from corpus.benchmarks.models import Benchmark
from corpus.reranking import asking
from corpus.runs.models import RetrievalRun
from corpus.texts.models import Query
from llm.ledger.accounts import AskingRun


class RerankMethod(models.TextChoices):
    """How the first passages of a query are ordered anew."""

    POINTWISE = asking.POINTWISE, "Pointwise"
    LISTWISE = asking.LISTWISE, "Listwise"
    GROUPWISE = asking.GROUPWISE, "Groupwise"
    ENDPOINT = asking.ENDPOINT, "Rerank server"
    ORACLE = asking.ORACLE, "Oracle"
    MERGE = asking.MERGE, "Merge of two runs"


class RerankRun(AskingRun):
    """Brings the first passages of every query of `source` into another order.

    `config` is frozen when it is made; `second` is the other run of a merge. The outcome is `run`,
    a retrieval run like any other, written when every query has its order. `report` says what was
    met on the way.
    """

    task_name = "corpus.rerank"
    page_route = "rerank-run"
    noun = "reranking"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="rerank_runs")
    name = models.CharField(max_length=200)
    method = models.CharField(max_length=12, choices=RerankMethod.choices)
    source = models.ForeignKey(RetrievalRun, on_delete=models.PROTECT, related_name="reranked_by")
    second = models.ForeignKey(
        RetrievalRun, null=True, on_delete=models.PROTECT, related_name="merged_by"
    )
    config = models.JSONField(default=dict)
    run = models.OneToOneField(
        RetrievalRun, null=True, on_delete=models.SET_NULL, related_name="reranking"
    )
    report = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Its endpoint with its model; nobody where the method asks none."""
        return [(self.endpoint, self.model)] if self.endpoint else []


class RerankState(models.TextChoices):
    """waiting -> ranked or failed; failed -> waiting, when it is tried again, or kept."""

    WAITING = "waiting", "waiting"
    RANKED = "ranked", "reranked"
    KEPT = "kept", "in the retriever’s order"
    FAILED = "failed", "failed"


class RerankItem(models.Model):
    """One query: its new order with the final scores, and what they were made of.

    `found` holds lists of equal length, in the retriever's order: `pids`, `retriever` (scaled),
    `rerank` and `spread`, null where nothing could be read; and `truncated`, the ids of documents
    that were shown in part, `missing`, ids without a text, and how many replies are `unread`.
    """

    run = models.ForeignKey(RerankRun, on_delete=models.CASCADE, related_name="items")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=RerankState.choices, default=RerankState.WAITING)
    pids = models.JSONField(default=list)
    scores = models.JSONField(default=list)
    found = models.JSONField(default=dict)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "query"], name="reranked_once")]
        indexes = [models.Index(fields=["run", "state", "id"], name="rerank_item_waiting")]

    @property
    def spread(self) -> float | None:
        """How far repeats differ, the mean over its documents; None where nothing was repeated."""
        known = [each for each in self.found.get("spread", ()) if each is not None]
        return fmean(known) if known else None

    def __str__(self) -> str:
        return f"query {self.query_id} of reranking {self.run_id}"
