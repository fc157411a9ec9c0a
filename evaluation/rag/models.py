"""Answers that a model writes from what systems retrieve, and their grades, as long work."""

from typing import Any, Final

from django.db import models
from django.db.models import Q

from corpus.models import Benchmark, CorpusVersion, Query, RetrievalRun
from evaluation.rag.protocol.answering import Harness
from llm.ledger.accounts import AskingRun
from llm.models import Call

HARNESSES = [
    (Harness.SHORT.value, "short answers, as DREAM"),
    (Harness.LONG.value, "long answers, as MARCUS"),
    (Harness.CITED.value, "long answers that cite their passages"),
]
# Replicates are so far apart that what is asked anew within one never meets the next.
_ANEW: Final = 1_000


class RagRun(AskingRun):
    """One generator over several sources of passages: every query once a source.

    `config` is frozen when the run is made: domain, sampling, and the prompts' versions and hashes.
    """

    task_name = "evaluation.answer_queries"
    page_route = "rag-run"
    noun = "answering"
    items_name = "answers"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="rag_runs")
    name = models.CharField(max_length=200)
    harness = models.CharField(max_length=5, choices=HARNESSES)
    k = models.PositiveSmallIntegerField(default=10)
    config = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def generator(self) -> tuple[object, ...]:
        """What makes two runs the same generator: their answers stand in one table."""
        kept = ("max_tokens", "temperature", "reasoning_effort", "prompts")
        return (
            *(self.endpoint, self.model, self.harness, self.k),
            *(str(self.config.get(name)) for name in kept),
        )


class SourceKind(models.TextChoices):
    """Where passages come from."""

    RUN = "run", "retrieval run"
    NONE = "none", "no retrieval"
    GOLD = "gold", "gold evidence"


class RagSource(models.Model):
    """One source of a run: a system's lists, the gold, or nothing.

    `is_planned` once its answers wait. `sheet` is made when the run ends, so that a board reads a
    row a source: {queries: [key], accuracy, exact, f1: [value or null]} and counts `failed`,
    `uninformed` (nothing was found) and `missing` (passages without a text).
    """

    run = models.ForeignKey(RagRun, on_delete=models.CASCADE, related_name="sources")
    kind = models.CharField(max_length=4, choices=SourceKind.choices)
    retrieval_run = models.ForeignKey(
        RetrievalRun, null=True, on_delete=models.SET_NULL, related_name="rag_sources"
    )
    # The derived corpus version that texts are of; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    name = models.CharField(max_length=200)
    is_planned = models.BooleanField(default=False)
    sheet: Any = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def system(self) -> tuple[str, str, int | None]:
        """What makes two sources of a generator the same system."""
        return self.kind, self.name, self.corpus_version_id


class AnswerState(models.TextChoices):
    """waiting -> answered or failed; failed -> waiting, when it is asked again."""

    WAITING = "waiting", "waiting"
    ANSWERED = "answered", "answered"
    FAILED = "failed", "failed"


class RagAnswer(models.Model):
    """What the generator answered to one query from one source.

    `passages` are the ids that it was given, in order, `missing` counts those of its first k that
    have no text here. The strings are held against the true answers as they were then; null
    without one.
    """

    run = models.ForeignKey(RagRun, on_delete=models.CASCADE, related_name="answers")
    source = models.ForeignKey(RagSource, on_delete=models.CASCADE, related_name="answers")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    passages = models.JSONField(default=list)
    missing = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=8, choices=AnswerState.choices, default=AnswerState.WAITING)
    answers = models.JSONField(default=list)
    is_informed = models.BooleanField(default=False)
    accuracy = models.PositiveSmallIntegerField(null=True)
    exact = models.PositiveSmallIntegerField(null=True)
    f1 = models.FloatField(null=True)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["source", "query"], name="rag_query_once_a_source"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="rag_answer_waiting")]

    def __str__(self) -> str:
        return f"answer to query {self.query_id} from source {self.source_id}"

    @property
    def text(self) -> str:
        """The answers as people read them."""
        return "; ".join(self.answers)


class JudgingRun(AskingRun):
    """A model that judges answers, asked as `config` says.

    Another `replicate` has replies of its own. With `swapped` it sees the same in another order:
    such a run says something of the judge, and nothing of the answers.
    """

    class Meta(AskingRun.Meta):
        abstract = True

    config: Any

    @property
    def about(self) -> int:
        """The key of what it judges."""
        raise NotImplementedError

    @property
    def replicate(self) -> int:
        """Which of several runs by one judge this is."""
        return int(self.config.get("replicate", 0))

    @property
    def is_swapped(self) -> bool:
        """Whether what it sees stands in another order."""
        return bool(self.config.get("swapped"))

    @classmethod
    def plain(cls) -> Q:
        """Runs that say something of the answers."""
        return Q(config__swapped__isnull=True)

    def anew(self, times: int) -> int:
        """The replicate of a request of which so many replies could not be read."""
        return _ANEW * self.replicate + times


class GradeRun(JudgingRun):
    """One grader over the answers of a run: True or False for short ones, 0 to 100 for long ones.

    `sheet` is made when it ends: {source: [value or null in the order of the source's queries]}.
    """

    task_name = "evaluation.grade_answers"
    page_route = "grade-run"
    noun = "grading"
    items_name = "grades"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="grade_runs")
    rag_run = models.ForeignKey(RagRun, on_delete=models.CASCADE, related_name="grade_runs")
    config = models.JSONField(default=dict)
    sheet: Any = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"grading {self.pk}"

    @property
    def about(self) -> int:
        """The run whose answers it grades."""
        return self.rag_run_id

    @property
    def grader(self) -> str:
        """Model, prompt and what else decides: what a table pins."""
        kept = ("profile", "temperature", "reasoning_effort")
        plain = {"profile": "strict", "temperature": 0.0, "reasoning_effort": ""}
        odd = [f"{self.config[name]}" for name in kept if self.config[name] != plain[name]]
        odd += ["true answers swapped"] if self.is_swapped else []
        return ", ".join([self.model, *odd, f"prompt {self.config['prompt'][:8]}"])

    @property
    def voice(self) -> tuple[object, ...]:
        """Whose replies these are, however they are read: graders of one voice count once."""
        kept = ("temperature", "reasoning_effort", "prompt")
        return self.model, *(self.config[name] for name in kept)


class KeptBoard(models.Model):
    """What was made of a run's generator, as JSON: the board by one outcome, or what of it is drawn
    (evaluation/rag/board.py). It holds while what it follows from has this digest."""

    run = models.ForeignKey(RagRun, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64)
    figures: Any = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="rag_board_kept_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"


class GradeState(models.TextChoices):
    """waiting -> one of the others; failed -> waiting, when it is graded again."""

    WAITING = "waiting", "waiting"
    GRADED = "graded", "graded"
    UNREADABLE = "unreadable", "unreadable"
    FAILED = "failed", "failed"


class Grade(models.Model):
    """What one grader said of one answer; `value` only where it was read: 0 or 1, or 0 to 100.

    An answer that says nothing is 0 without a call.
    """

    run = models.ForeignKey(GradeRun, on_delete=models.CASCADE, related_name="grades")
    answer = models.ForeignKey(RagAnswer, on_delete=models.CASCADE, related_name="grades")
    state = models.CharField(max_length=10, choices=GradeState.choices, default=GradeState.WAITING)
    value = models.FloatField(null=True)
    said = models.TextField(blank=True, default="")
    # How often it was asked anew, since what was said could not be read.
    replicate = models.PositiveSmallIntegerField(default=0, db_default=0)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "answer"], name="rag_answer_graded_once"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="rag_grade_waiting")]

    def __str__(self) -> str:
        return f"grade of answer {self.answer_id} in grading {self.run_id}"
