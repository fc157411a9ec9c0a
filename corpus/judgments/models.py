"""Relevance labels: the one table of judgments, and the versions of the imported gold."""

from typing import NamedTuple, Self

from django.db import models
from django.db.models import Q

from corpus.benchmarks.models import Benchmark, Domain
from corpus.texts.models import Passage, Query, ReadyManager


class GoldVersion(models.Model):
    """One imported gold of a domain. A newer gold is another row; both stay evaluable."""

    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="gold_versions")
    name = models.CharField(max_length=120)
    digest = models.CharField(max_length=64)
    is_current = models.BooleanField(default=True)
    # False while an import writes its judgments; it is current no sooner than ready.
    is_ready = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ReadyManager["GoldVersion"]()
    everything = models.Manager["GoldVersion"]()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["domain", "digest"], condition=Q(is_ready=True), name="gold_version_once"
            ),
            models.CheckConstraint(
                condition=Q(is_ready=True) | Q(is_current=False), name="current_gold_is_ready"
            ),
            models.UniqueConstraint(
                fields=["domain"], condition=Q(is_current=True), name="one_current_gold"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.domain.name}: {self.name}"


class Source(models.TextChoices):
    """Who gave a label (docs/protocol.md 1.2)."""

    ORIGINAL = "original"
    FILTER = "filter"
    DEBATE = "debate"
    HUMAN = "human"
    LLM_ADJUDICATOR = "llm_adjudicator"
    EXPERT = "expert"
    LLMJUDGE = "llmjudge"
    LARA = "lara"


# Which label stands where several exist; baselines never stand beside people.
PRECEDENCE: dict[str, int] = {
    Source.EXPERT: 5,
    Source.HUMAN: 4,
    Source.LLM_ADJUDICATOR: 3,
    Source.DEBATE: 2,
    Source.FILTER: 1,
    Source.LLMJUDGE: 0,
    Source.LARA: 0,
}
# Sources whose newer label replaces an equal one; among machines the first stays.
PEOPLE = frozenset({Source.EXPERT, Source.HUMAN})


class Status(models.TextChoices):
    """Standing labels count; trial labels wait for an admin; superseded ones are history."""

    STANDING = "standing"
    TRIAL = "trial"
    SUPERSEDED = "superseded"


class LeftOut(NamedTuple):
    """Keys of labels that do not count, and of those that stand in their places."""

    labels: frozenset[int] = frozenset()
    instead: frozenset[int] = frozenset()

    @property
    def standing(self) -> Q:
        """Condition on labels: they stand, or would without these."""
        stands = Q(status=Status.STANDING)
        return stands & ~Q(pk__in=self.labels) | Q(pk__in=self.instead) if self.labels else stands


NOTHING_LEFT_OUT = LeftOut()


class JudgmentQuerySet(models.QuerySet["Judgment"]):
    """Vocabulary for reading labels."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every label of the benchmark, whatever its state, but what is still being loaded."""
        loading = GoldVersion.everything.filter(is_ready=False).values("pk")
        # Named one by one: of a table as small as that of domains PostgreSQL keeps no statistics,
        # and would expect next to no queries behind it.
        domains = list(benchmark.domains.values_list("pk", flat=True))
        return self.filter(query__domain__in=domains).exclude(gold_version__in=loading)

    def original(self) -> Self:
        """The base view: the gold that is current in each domain."""
        return self.filter(source=Source.ORIGINAL, gold_version__is_current=True)

    def standing(self, without: LeftOut = NOTHING_LEFT_OUT) -> Self:
        """Labels given since the import that count now, or would without some."""
        return self.filter(without.standing).exclude(source=Source.ORIGINAL)


class Judgment(models.Model):
    """One label of one (query, passage) pair. Added and superseded, never overwritten."""

    # `judgment_listed` begins with the query: an index on it alone would only cost.
    query = models.ForeignKey(
        Query, on_delete=models.PROTECT, related_name="judgments", db_index=False
    )
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="judgments")
    label = models.SmallIntegerField()
    source = models.CharField(max_length=16, choices=Source.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.STANDING)
    gold_version = models.ForeignKey(
        GoldVersion, null=True, on_delete=models.PROTECT, related_name="judgments"
    )
    # Where subtopics were judged: the label of each; `label` is the highest of them.
    subtopics = models.JSONField(null=True)
    round = models.PositiveSmallIntegerField(null=True)
    practice = models.BooleanField(default=False, db_default=False)
    provenance = models.JSONField(default=dict)
    superseded_by = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="supersedes"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = JudgmentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query", "passage"],
                condition=Q(status=Status.STANDING) & ~Q(source=Source.ORIGINAL),
                name="one_standing_label",
            ),
            models.UniqueConstraint(
                fields=["gold_version", "query", "passage"],
                condition=Q(source=Source.ORIGINAL),
                name="original_label_once",
            ),
            models.CheckConstraint(
                condition=Q(source=Source.ORIGINAL, gold_version__isnull=False)
                | (~Q(source=Source.ORIGINAL) & Q(gold_version__isnull=True)),
                name="original_has_gold_version",
            ),
        ]
        indexes = [
            # In the order of the list of labels, with all that its filters and counts look at.
            models.Index(
                fields=[
                    "query",
                    "id",
                    "status",
                    "source",
                    "passage",
                    "gold_version",
                    "label",
                    "practice",
                ],
                name="judgment_listed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.label} for query {self.query_id}, passage {self.passage_id}"

    @property
    def pair(self) -> tuple[int, int]:
        """Keys of its query and passage."""
        return self.query_id, self.passage_id
