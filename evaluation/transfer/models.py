"""Files of whole benchmarks, as long work: written, read, or merged."""

from django.db import models

from corpus.models import Benchmark
from kit.runs.models import TrackedRun


class TransferKind(models.TextChoices):
    """What is done with a file."""

    EXPORT = "export", "export"
    # Of the benchmark that is being made of a file, which nobody sees before it is over.
    IMPORT = "import", "import"
    MERGE = "merge", "merge"


class Transfer(TrackedRun):
    """One file of a whole benchmark: written from it, or read into it.

    `digest` is that of the content. `made` holds what an import has to take away again if it ends
    early ({"first", "rows", "people"}); `report` what a merge found, before and after it is applied.
    """

    task_name = "evaluation.transfer"
    noun = "transfer"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="transfers")
    kind = models.CharField(max_length=6, choices=TransferKind.choices)
    digest = models.CharField(max_length=64, blank=True, default="")
    size = models.BigIntegerField(default=0)
    made = models.JSONField(default=dict)
    report = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk} of {self.benchmark}"
