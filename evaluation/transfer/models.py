"""Files of whole benchmarks, as long work: written, read, or merged."""

from django.conf import settings
from django.db import models

from annotate.models import Aspect, SupportLabel
from corpus.models import Benchmark, Judgment, Passage, Query
from kit.runs.models import TrackedRun


class TransferKind(models.TextChoices):
    """What is done with a file."""

    EXPORT = "export", "export"
    # Of the benchmark that is being made of a file, which nobody sees before it is over.
    IMPORT = "import", "import"
    MERGE = "merge", "merge"
    # Of the benchmark on whose page the file was sent, which stays as it is: a new one is made.
    CREATE = "create", "new benchmark"


class Transfer(TrackedRun):
    """One file of a whole benchmark: written from it, or read into it.

    `digest` is that of the content. `made` holds what an import has to take away again if it ends
    early ({"first", "rows", "people"}) and the run that it is part `of`, who applies a merge
    ({"apply"}), or how a new benchmark is called ({"slug"}); `report` what a merge found
    (`merging.Merge.report`), or which benchmark was made.
    """

    task_name = "evaluation.transfer"
    page_route = "transfer"
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


class ConflictKind(models.TextChoices):
    """What two installations see differently."""

    LABEL = "label", "label of a pair"
    SUPPORT = "support", "support of an aspect"
    ASPECTS = "aspects", "aspects of a query"
    ASPECT = "aspect", "text or weight of an aspect"
    GOLD = "gold", "aspect of a gold passage"
    PROBLEM = "problem", "problem of original gold"


class Choice(models.TextChoices):
    """Open until an admin chooses; what was here stands until then, and if it is kept."""

    OPEN = "open", "open"
    OURS = "ours", "ours kept"
    THEIRS = "theirs", "theirs taken"


class MergeConflict(models.Model):
    """What a merged file says against what stands here, with the same weight (docs/backups.md).

    `ours` and `theirs` are both in words. `judgment` or `support` is their label, which waits as a
    trial label; other kinds are written by hand where theirs is to be taken.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="merge_conflicts"
    )
    kind = models.CharField(max_length=7, choices=ConflictKind.choices)
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    passage = models.ForeignKey(Passage, null=True, on_delete=models.PROTECT, related_name="+")
    aspect = models.ForeignKey(Aspect, null=True, on_delete=models.PROTECT, related_name="+")
    ours = models.TextField()
    theirs = models.TextField()
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    support = models.ForeignKey(SupportLabel, null=True, on_delete=models.PROTECT, related_name="+")
    # Of the file that brought it.
    digest = models.CharField(max_length=64)
    choice = models.CharField(max_length=6, choices=Choice.choices, default=Choice.OPEN)
    chosen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    chosen_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} of {self.query}: {self.ours} here, {self.theirs} there"
