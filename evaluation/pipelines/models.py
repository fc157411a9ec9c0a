"""A pipeline as long work: runs behind one another, each made from those before it."""

from typing import Any

from django.db import models

from corpus.models import Benchmark, RetrievalRun
from evaluation.pipelines import plan
from kit.runs.models import TrackedRun


class PipelineRun(TrackedRun):
    """Starts the steps of a version of DIVER one after the other, and waits for each.

    `steps`: [{"name", "kind", "of", "child", "run"}], the last two null before it is begun and
    before it is done: the key of an expansion, computation or reranking, and of the retrieval run
    that this became; "dropped" are keys of its runs that were cancelled, where it was begun anew.
    `config` is frozen when it is made.
    """

    task_name = "evaluation.pipeline"
    total_tells = False
    page_route = "pipeline"
    noun = "pipeline"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="pipelines")
    name = models.CharField(max_length=150)
    preset = models.CharField(max_length=4, choices=plan.CHOICES)
    retriever = models.ForeignKey(RetrievalRun, on_delete=models.PROTECT, related_name="+")
    config = models.JSONField(default=dict)
    steps = models.JSONField(default=list)
    # For all steps together; null is no limit. What is left is the limit of the next.
    budget_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    practice = models.BooleanField(default=False)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def begun(self) -> list[dict[str, Any]]:
        """Steps that have a run of their own."""
        return [each for each in self.steps if each["child"]]

    @property
    def run(self) -> RetrievalRun | None:
        """The retrieval run that its last step became; None before."""
        return RetrievalRun.objects.filter(pk=self.steps[-1]["run"] or 0).first()
