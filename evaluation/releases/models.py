"""A release of a benchmark: built from the benchmark as of one moment."""

from django.db import models

from corpus.models import Benchmark, CorpusVersion
from kit.runs.models import TrackedRun


class ReleaseState(models.TextChoices):
    """A draft prints its faults on the card; a final one is refused while a check fails."""

    DRAFT = "draft"
    FINAL = "final"


class Release(TrackedRun):
    """One built release: a folder of files with checksums, and what was found wrong with it."""

    task_name = "evaluation.build_release"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="releases")
    # The derived corpus version that it is of; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    version = models.CharField(max_length=40)
    state = models.CharField(max_length=5, choices=ReleaseState.choices, default=ReleaseState.DRAFT)
    # The least agreement of voters (Fleiss' kappa) that a final release wants; null: none was set.
    agreement_bar = models.FloatField(null=True)
    folder = models.CharField(max_length=1000)
    # {"queries": 8, ...} by kind, [{"check", "count", "message", "rows"}], {"file": "sha256"}.
    counts = models.JSONField(default=dict)
    faults = models.JSONField(default=list)
    files = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "version"], name="release_once")
        ]

    def __str__(self) -> str:
        return f"{self.benchmark.slug} {self.version}"
