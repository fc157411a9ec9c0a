"""Answers split into sentences with what they cite, and what machines say of each, as long work."""

from typing import Any

from django.db import models

from annotate.grading.models import VERDICTS
from corpus.models import Benchmark, Passage, Query
from evaluation.agents.models import AgentRun
from evaluation.rag.models import JudgingRun, RagRun
from llm.models import Call


class SetKind(models.TextChoices):
    """Whose answers."""

    AGENT = "agent", "search agent"
    RAG = "rag", "RAG run"
    REFERENCE = "reference", "reference answers"
    IMPORT = "import", "imported answers"


class SupportSet(models.Model):
    """Answers whose citations are judged; each is split once, so that all judge the same.

    `per_sentence` citations of a sentence count, the first ones; all where it is null (TREC RAG
    2024 judged the first). A worker splits what stands here already: then `is_split`. Of imported
    ones `blank` sentences were left out.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="support_sets")
    kind = models.CharField(max_length=9, choices=SetKind.choices)
    name = models.CharField(max_length=200)
    agent_run = models.ForeignKey(AgentRun, null=True, on_delete=models.CASCADE, related_name="+")
    rag_run = models.ForeignKey(RagRun, null=True, on_delete=models.CASCADE, related_name="+")
    per_sentence = models.PositiveSmallIntegerField(null=True)
    is_split = models.BooleanField(default=False)
    blank = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name


class SupportedAnswer(models.Model):
    """One answer: `sentences` are [text, [passage ids]], without their citations."""

    support_set = models.ForeignKey(SupportSet, on_delete=models.CASCADE, related_name="answers")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    system = models.CharField(max_length=220)
    origin = models.CharField(max_length=60)
    text = models.TextField()
    sentences: Any = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["support_set", "origin"], name="support_answer_once"),
        ]

    def __str__(self) -> str:
        return f"answer {self.origin} of set {self.support_set_id}"


class Claim(models.Model):
    """One sentence of an answer with one passage that it cites; without `passage` there is none of
    that id here, which supports nothing. `sentence` and `place` count from 0."""

    answer = models.ForeignKey(SupportedAnswer, on_delete=models.CASCADE, related_name="claims")
    sentence = models.PositiveSmallIntegerField()
    place = models.PositiveSmallIntegerField()
    pid = models.TextField()
    passage = models.ForeignKey(Passage, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["answer", "sentence", "place"], name="claim_once"),
        ]

    def __str__(self) -> str:
        return f"sentence {self.sentence} of answer {self.answer_id} citing {self.pid}"

    @property
    def text(self) -> str:
        """The sentence."""
        return self.answer.sentences[self.sentence][0]


class SupportRun(JudgingRun):
    """One judge over the citations of a set; swapped, it sees the passage before the sentence."""

    task_name = "evaluation.judge_support"
    page_route = "support-run"
    noun = "support"
    items_name = "verdicts"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="support_runs")
    support_set = models.ForeignKey(SupportSet, on_delete=models.CASCADE, related_name="runs")
    config = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"support run {self.pk}"

    @property
    def about(self) -> int:
        """The set whose citations it judges."""
        return self.support_set_id

    @property
    def judge(self) -> str:
        """Model, prompt and what else decides: what a table pins."""
        odd = [f"temperature {self.config['temperature']:g}"] if self.config["temperature"] else []
        odd += [self.config["reasoning_effort"]] if self.config["reasoning_effort"] else []
        odd += ["passage first"] if self.is_swapped else []
        return ", ".join([self.model, *odd, f"prompt {self.config['prompt'][:8]}"])


class SupportState(models.TextChoices):
    """waiting -> one of the others; failed or unreadable -> waiting, when it is asked again."""

    WAITING = "waiting", "waiting"
    JUDGED = "judged", "judged"
    UNREADABLE = "unreadable", "unreadable"
    FAILED = "failed", "failed"


class SupportVerdict(models.Model):
    """What one judge said of one citation, with the code points [start, end) of the passage that
    support the sentence."""

    run = models.ForeignKey(SupportRun, on_delete=models.CASCADE, related_name="verdicts")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="verdicts")
    state = models.CharField(
        max_length=10, choices=SupportState.choices, default=SupportState.WAITING
    )
    value = models.PositiveSmallIntegerField(null=True, choices=VERDICTS)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    said = models.TextField(blank=True, default="")
    # How often it was asked anew, since what was said could not be read.
    replicate = models.PositiveSmallIntegerField(default=0, db_default=0)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "claim"], name="claim_judged_once"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="support_waiting")]

    def __str__(self) -> str:
        return f"verdict on claim {self.claim_id} in support run {self.run_id}"

    @property
    def words(self) -> str:
        """What of the passage supports the sentence."""
        text = (self.claim.passage.text if self.claim.passage else None) or ""
        return text[slice(*self.span)] if self.span else ""

    @property
    def span(self) -> list[int] | None:
        """Both ends."""
        return None if self.start is None or self.end is None else [self.start, self.end]
