"""Other wordings of a benchmark's queries by their source, and the long work that writes some."""

from django.db import models
from django.db.models import Q

from corpus.benchmarks.models import Benchmark
from corpus.runs.models import RetrievalRun
from corpus.texts.models import Query
from corpus.wordings import asking
from llm.ledger.accounts import AskingRun


class QuerySource(models.Model):
    """A benchmark's queries in other words, all of one origin. A query without one keeps its own.

    `provenance` says where they are from: an import, or an expansion with its round and model.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="query_sources")
    name = models.CharField(max_length=200)
    # SHA-256 over all wordings, by domain and query.
    digest = models.CharField(max_length=64)
    query_count = models.PositiveIntegerField(default=0)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="query_source_once")
        ]

    def __str__(self) -> str:
        return self.name


class Wording(models.Model):
    """A query as its source words it."""

    source = models.ForeignKey(QuerySource, on_delete=models.CASCADE, related_name="wordings")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="wordings")
    text = models.TextField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["source", "query"], name="worded_once")]

    def __str__(self) -> str:
        return f"{self.query_id} as {self.source_id} has it"


class ExpansionMethod(models.TextChoices):
    """How a query comes to other words."""

    REWRITE = asking.REWRITE, "Rewriting"
    QEXPAND = asking.QEXPAND, "QExpand"


class ExpansionRun(AskingRun):
    """Has a model write every query in other words, round by round.

    `config` is frozen when it is made. With a `retriever`, whose index is asked after each round,
    each round also becomes a retrieval run. `report` says what was met, and under `rounds` which
    query source and which retrieval run each of them became.
    """

    task_name = "corpus.expand"
    page_route = "expansion"
    noun = "expansion"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="expansions")
    name = models.CharField(max_length=200)
    method = models.CharField(max_length=8, choices=ExpansionMethod.choices)
    retriever = models.ForeignKey(
        RetrievalRun, null=True, on_delete=models.PROTECT, related_name="expansions"
    )
    config = models.JSONField(default=dict)
    # Its last round, and the retrieval run that this one became.
    source = models.OneToOneField(
        QuerySource, null=True, on_delete=models.SET_NULL, related_name="expansion"
    )
    run = models.OneToOneField(
        RetrievalRun, null=True, on_delete=models.SET_NULL, related_name="expansion"
    )
    report = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name


class ExpansionState(models.TextChoices):
    """waiting -> worded, kept or failed; failed -> waiting, when it is tried again, or kept."""

    WAITING = "waiting", "waiting"
    WORDED = "worded", "in other words"
    KEPT = "kept", "as it was"
    FAILED = "failed", "failed"


class ExpansionItem(models.Model):
    """One query of an expansion."""

    run = models.ForeignKey(ExpansionRun, on_delete=models.CASCADE, related_name="items")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(
        max_length=8, choices=ExpansionState.choices, default=ExpansionState.WAITING
    )
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "query"], name="expanded_once")]
        indexes = [models.Index(fields=["run", "state", "id"], name="expansion_item_waiting")]

    def __str__(self) -> str:
        return f"query {self.query_id} of expansion {self.run_id}"


class ExpansionRound(models.Model):
    """What a round did: passages shown, calls made, texts written; the query that came of it, and
    what that retrieved (null without a retriever).

    `found`: `cut` passages that were shown in part, `unread` replies that nobody could use,
    `is_kept` where the query is that of the round before, `is_last` where it stopped early.
    """

    item = models.ForeignKey(ExpansionItem, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    shown = models.JSONField(default=list)
    calls = models.JSONField(default=list)
    texts = models.JSONField(default=list)
    query = models.TextField()
    pids = models.JSONField(null=True)
    scores = models.JSONField(null=True)
    found = models.JSONField(default=dict)

    class Meta:
        ordering = ["item", "number"]
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="expansion_round_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="expansion_round_counts"),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.item_id}"
