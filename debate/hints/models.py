"""Runs that write two reasons for each item of a reference panel."""

from typing import Any

from django.db import models

from annotate.models import PanelStatus, ReferenceItem, ReferencePanel
from corpus.models import Benchmark, Passage, Query
from debate.runs.models import MAX_TOKENS
from llm.ledger.accounts import AskingRun


class HintStatus(models.TextChoices):
    """waiting -> one of the others, once. Only written ones are shown to anybody."""

    WAITING = "waiting"
    WRITTEN = "written"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    # Answered after the panel was opened or another run had written: kept in the ledger only.
    LATE = "late", "too late"


class HintRun(AskingRun):
    """One model writes a reason for and one against, for every item that has none yet.

    What it writes is frozen into the panel's items; the run can be looked at and paid for, and
    people's judgment does not depend on it.
    """

    task_name = "debate.hints"
    page_route = "panel-hints"
    page_key = "panel"
    noun = "hint run"
    of_benchmark = "panel__benchmark"
    at_screen = True

    panel = models.ForeignKey(ReferencePanel, on_delete=models.PROTECT, related_name="hint_runs")
    prompt_version = models.PositiveSmallIntegerField()
    prompt_sha256 = models.CharField(max_length=64)
    max_tokens = models.PositiveIntegerField(default=MAX_TOKENS)

    def __str__(self) -> str:
        return f"hint run {self.pk}"

    def waiting_items(self) -> models.QuerySet["Hint"]:
        """What is still to be written; nothing once the panel is no longer prepared."""
        waiting = self.hints.filter(status=HintStatus.WAITING, item__isnull=False)
        return waiting.filter(run__panel__status=PanelStatus.PREPARING)

    @property
    def benchmark(self) -> Benchmark:
        """That of its panel."""
        return self.panel.benchmark

    @property
    def scope(self) -> str:
        """Beside the panel's own events, which voters do not read."""
        return f"{self.benchmark.slug}#panels"

    @property
    def event_data(self) -> dict[str, Any]:
        """Which panel it writes for."""
        return {"panel": self.panel_id}

    @property
    def model_choices(self) -> list[dict[str, Any]]:
        """Who is asked, as a debate run's."""
        return [{"model": self.model, "endpoint": self.endpoint}]


class Hint(models.Model):
    """One item of a run; null once a closed panel gave the item up."""

    run = models.ForeignKey(HintRun, on_delete=models.CASCADE, related_name="hints")
    item = models.ForeignKey(ReferenceItem, null=True, on_delete=models.SET_NULL, related_name="+")
    status = models.CharField(max_length=10, choices=HintStatus.choices, default=HintStatus.WAITING)
    error = models.TextField(blank=True, default="")
    # Ledger keys of the calls that were read: [[side, call], ...].
    calls = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "item"], name="hinted_once")]

    def __str__(self) -> str:
        return f"hint {self.pk} of run {self.run_id}"

    @property
    def query(self) -> Query:
        """Of its item; only of hints that have one."""
        assert self.item is not None
        return self.item.case.query

    @property
    def passage(self) -> Passage:
        """Of its item; only of hints that have one."""
        assert self.item is not None
        return self.item.case.passage
