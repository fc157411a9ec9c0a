"""An import as long work: what was asked, what came of it, where it was wrong."""

from django.db import models

from corpus.benchmarks.models import Benchmark
from corpus.texts.models import CorpusVersion
from kit.runs.models import TrackedRun


class ImportRun(TrackedRun):
    """One load of one file or folder.

    `summary` holds counts by kind ({"queries": {"added": 8, "present": 0}, ...}) and oddities;
    `problems` up to a hundred errors as {file, line, field, message}.
    """

    # Registered by the annotate room, because a Bright-Pro folder also brings aspects.
    task_name = "import_benchmark"
    page_route = "import-run"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="imports")
    format = models.CharField(max_length=20)
    path = models.CharField(max_length=1000)
    # Bytes of its files as they came from a screen or script, which count against the quota.
    size = models.BigIntegerField(default=0, db_default=0)
    # What people called the file; `path` is where it lies here.
    label = models.CharField(max_length=255)
    qrels_path = models.CharField(max_length=1000, blank=True, default="")
    # The domain of a retrieval run's files, where their names do not tell it.
    domain = models.CharField(max_length=80, blank=True, default="")
    version = models.ForeignKey(CorpusVersion, null=True, on_delete=models.SET_NULL)
    # The derived corpus version whose ids a retrieval run's files name; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    summary = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    # What is written and not yet visible, by kind, and under which fence; emptied by publishing.
    staged = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.label}"
