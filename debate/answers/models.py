"""Runs in which a model writes reference answers."""

from django.db import models

from annotate.models import ReferenceAnswer
from corpus.models import Benchmark, Query
from llm.ledger.accounts import AskingRun


class AnswerRun(AskingRun):
    """Asks one model for the reference answers of many queries, or of one.

    `config` is frozen when the run is made: temperature, reasoning effort, whether the model sees
    weights, and version and hash of the prompt.
    """

    task_name = "debate.write_answers"
    page_route = "answer-run"
    noun = "answers"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="answer_runs")
    config = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"answer run {self.pk}"


class AnswerItemState(models.TextChoices):
    """waiting -> one of the others, once."""

    WAITING = "waiting", "waiting"
    WRITTEN = "written", "written"
    FAULTY = "faulty", "written, with faults"
    FAILED = "failed", "not written"


class AnswerItem(models.Model):
    """One query of an answer run.

    Faulty: the answer cites what it was not given, or leaves an aspect without a citation, after
    the model was asked twice. `error` says why, also of what failed.
    """

    run = models.ForeignKey(AnswerRun, on_delete=models.CASCADE, related_name="items")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(
        max_length=8, choices=AnswerItemState.choices, default=AnswerItemState.WAITING
    )
    answer = models.ForeignKey(
        ReferenceAnswer, null=True, on_delete=models.PROTECT, related_name="+"
    )
    asked = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "query"], name="query_once_an_answer_run"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="answer_item_waiting")]

    def __str__(self) -> str:
        return f"query {self.query_id} of answer run {self.run_id}"
