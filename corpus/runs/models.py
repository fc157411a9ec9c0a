"""Retrieval runs: what a system returned for each query, kept as it came."""

from django.db import models
from django.db.models import Q

from corpus.benchmarks.models import Benchmark
from corpus.texts.models import CorpusVersion, OfReadyRunManager, Query, ReadyManager


class RetrievalRun(models.Model):
    """One system's rankings. `provenance`: file, digest, tag, and what was odd about it."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="retrieval_runs"
    )
    # The system's name: runs of one name rank several corpus versions by the same system.
    name = models.CharField(max_length=200)
    # The derived corpus version whose ids it ranks; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    digest = models.CharField(max_length=64)
    query_count = models.PositiveIntegerField(default=0)
    # The longest list; lists may be shorter.
    depth = models.PositiveIntegerField(default=0)
    # Ranked ids that the corpus did not hold when the run came in (docs/protocol.md 9).
    unknown_count = models.PositiveIntegerField(default=0)
    provenance = models.JSONField(default=dict)
    # False while an import writes its lists.
    is_ready = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ReadyManager["RetrievalRun"]()
    everything = models.Manager["RetrievalRun"]()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "name"],
                condition=Q(is_ready=True, corpus_version__isnull=True),
                name="retrieval_run_once",
            ),
            models.UniqueConstraint(
                fields=["corpus_version", "name"],
                condition=Q(is_ready=True, corpus_version__isnull=False),
                name="retrieval_run_once_derived",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RankedList(models.Model):
    """One query's ranking in the order of the file: passage ids and, where given, their scores.

    One row a query, not one a document: a run of 739 x 1,000 stays 739 rows. Ids are kept as
    text because a run may name documents that the corpus does not hold.
    """

    run = models.ForeignKey(RetrievalRun, on_delete=models.CASCADE, related_name="lists")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="ranked_lists")
    pids = models.JSONField(default=list)
    scores = models.JSONField(null=True)

    objects = OfReadyRunManager["RankedList"]()
    everything = models.Manager["RankedList"]()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "query"], name="ranked_list_once")]

    def __str__(self) -> str:
        return f"{self.run} for {self.query_id}"
