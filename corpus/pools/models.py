"""Pools: the (query, passage) pairs that are put before judges."""

from django.db import models
from django.db.models import Q

from corpus.benchmarks.models import Benchmark
from corpus.texts.models import CorpusVersion, Passage, Query, ReadyManager
from kit.runs.models import TrackedRun


class Pool(models.Model):
    """A named set of pairs; `provenance` says where it came from."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="pools")
    name = models.CharField(max_length=120)
    # The derived corpus version that its passages are of; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    provenance = models.JSONField(default=dict)
    # False while an import writes its pairs.
    is_ready = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Its pairs are about one aspect of the query each.
    of_aspects = models.BooleanField(default=False, db_default=False)

    objects = ReadyManager["Pool"]()
    everything = models.Manager["Pool"]()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "name"], condition=Q(is_ready=True), name="pool_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class PoolEntry(models.Model):
    """One pair of a pool, with the systems that proposed it: [{system, rank, score}].

    With an `aspect` (the number k of one of the query's) the question is whether the passage
    supports that aspect, otherwise whether it is relevant to the query.
    """

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="entries")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    aspect = models.PositiveSmallIntegerField(null=True)
    systems = models.JSONField(default=list)
    # The first entry of the query whose passage has the same text under another id: both stay.
    same_text_as = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="twins"
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "query", "passage"], condition=Q(aspect=None), name="pair_once"
            ),
            models.UniqueConstraint(
                fields=["pool", "query", "passage", "aspect"],
                condition=Q(aspect__isnull=False),
                name="support_once",
            ),
        ]

    def __str__(self) -> str:
        return f"query {self.query_id}, passage {self.passage_id}"


class PoolBuild(TrackedRun):
    """Building a pool out of retrieval runs, as long work; `done` and `total` count queries.

    `pool` is the pool it fills, which nobody sees before it is whole.
    """

    task_name = "corpus.build_pool"
    page_route = "pool-build"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="pool_builds")
    # Keys of the retrieval runs, in the order in which they were chosen.
    runs = models.JSONField(default=list)
    depth = models.PositiveSmallIntegerField()
    # Not pairs, but what may support the aspects for which no run found gold.
    of_aspects = models.BooleanField(default=False, db_default=False)
    # Empty: one is made up.
    name = models.CharField(max_length=120, blank=True, default="")
    pool = models.ForeignKey(Pool, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name or f"pool build {self.pk}"
