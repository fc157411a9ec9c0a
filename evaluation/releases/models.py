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
    page_route = "release"

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
    # What the chain that it is the end of began with, and what its steps came to
    # (evaluation/chain).
    chain = models.JSONField(default=list, db_default=[])

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "version"], name="release_once")
        ]

    def __str__(self) -> str:
        return f"{self.benchmark.slug} {self.version}"


class ReleasePush(TrackedRun):
    """A built release put into a dataset repository of a hub, as one commit and a tag."""

    task_name = "evaluation.push_release"
    total_tells = False
    page_route = "push"
    of_benchmark = "of_release__benchmark"

    # Not `release`: that is how a run is given back to the queue.
    of_release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="pushes")
    # "owner/name", or "owner/name/folder" for one of several benchmarks in a repository.
    repository = models.CharField(max_length=200)
    # Where the commit is shown, once it is made.
    commit_url = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.of_release} to {self.repository}"

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of the release."""
        return self.of_release.benchmark
