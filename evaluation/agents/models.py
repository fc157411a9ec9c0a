"""Search agents under test and the judging of their answers, as long work."""

from typing import Any, Final

from django.db import models

from corpus.models import Benchmark, Query, RetrievalRun
from evaluation.agents.protocol.judging import JudgeMode
from llm.ledger.accounts import AskingRun
from llm.models import Call

JUDGE_MODES: Final = [(mode.value, mode.value) for mode in JudgeMode]


class AgentRun(AskingRun):
    """One agent over one retriever: queries times repetitions.

    `config` is frozen when the run is made: rounds (null: the agent decides), k, snippets, limits,
    sampling, and versions and hashes of the prompts. `retriever` names the retrieval run, also
    where that is gone or the traces were imported.

    In a guest run an agent from outside searches by tokens: no worker takes it, it has no endpoint,
    its `model` is the agent's name, and it is running, without a lease, until all is answered.
    """

    task_name = "evaluation.run_agent"
    page_route = "agent-run"
    noun = "search agent"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="agent_runs")
    name = models.CharField(max_length=200)
    retrieval_run = models.ForeignKey(
        RetrievalRun, null=True, on_delete=models.SET_NULL, related_name="agent_runs"
    )
    retriever = models.CharField(max_length=200)
    repetitions = models.PositiveSmallIntegerField(default=1)
    config = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def rounds(self) -> int | None:
        """Fixed rounds; None where the agent decides when to stop."""
        return self.config.get("rounds")

    @property
    def is_guest(self) -> bool:
        """Whether an agent from outside searches, by tokens."""
        return bool(self.config.get("guest"))

    @property
    def asked(self) -> list[tuple[str, str]]:
        """The agent's model; none for one from outside, whose searches alone may cost something."""
        return [] if self.is_guest else super().asked


class AgentState(models.TextChoices):
    """waiting -> one of the others; failed -> waiting, when it is run again."""

    WAITING = "waiting", "waiting"
    FINISHED = "finished", "finished"
    MAX_ITERATIONS = "max_iterations", "stopped at the limit"
    FAILED = "failed", "failed"


class AgentItem(models.Model):
    """One query in one repetition: what the agent did, and its answers.

    `turns` hold what it said, its calls of tools with the ids that came back, and the key of the
    call in the ledger, which keeps the transcript. `answers` are one a round where rounds are
    fixed. `round_count` is R: rounds that returned a document. `token_hash` is of the token by
    which an agent from outside may search for it, null where there is none.
    """

    run = models.ForeignKey(AgentRun, on_delete=models.CASCADE, related_name="items")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    repetition = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=14, choices=AgentState.choices, default=AgentState.WAITING)
    round_count = models.PositiveSmallIntegerField(null=True)
    turns = models.JSONField(default=list)
    answers = models.JSONField(default=list)
    error = models.TextField(blank=True, default="")
    token_hash = models.CharField(max_length=64, null=True, unique=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "query", "repetition"], name="agent_query_once_a_repetition"
            ),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="agent_item_waiting")]

    def __str__(self) -> str:
        return f"query {self.query_id} of agent run {self.run_id}"

    @property
    def rounds(self) -> dict[int, list[str]]:
        """What the searches of each round returned, in the order of calls."""
        return {
            turn["round"]: [pid for use in turn["uses"] for pid in use["docids"]]
            for turn in self.turns
        }

    def answer_after(self, round: int) -> dict[str, Any] | None:
        """The answer of that round; of an agent that decided itself, its one answer."""
        return next((each for each in self.answers if each["round"] == round), None)


class JudgeRun(AskingRun):
    """One judge over the answers of an agent run, or over answers of known order.

    `mode` is stored with every score, and scores of two modes are never in one mean. Without an
    agent run the judge itself is tried: on reference answers, their openings and a platitude; or
    it is bridged to the judge of `bridge_from`, some of whose answers it judges again.
    """

    task_name = "evaluation.judge_answers"
    page_route = "judge-run"
    noun = "judging"
    items_name = "verdicts"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="judge_runs")
    agent_run = models.ForeignKey(
        AgentRun, null=True, on_delete=models.CASCADE, related_name="judge_runs"
    )
    bridge_from = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="bridges"
    )
    mode = models.CharField(max_length=14, choices=JUDGE_MODES)
    repetitions = models.PositiveSmallIntegerField(default=1)
    config = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"judge run {self.pk}"

    @property
    def judge(self) -> str:
        """Model, mode and prompt: what a table pins."""
        turned = ", aspects swapped" if self.config.get("swapped") else ""
        return f"{self.model}, {self.mode}, prompt {self.config['prompt'][:12]}{turned}"

    @property
    def is_trial(self) -> bool:
        """Whether it tries the judge, on answers of known order."""
        return self.agent_run_id is None and self.bridge_from_id is None


class VerdictState(models.TextChoices):
    """waiting -> judged or failed; failed -> waiting, when it is judged again."""

    WAITING = "waiting", "waiting"
    JUDGED = "judged", "judged"
    FAILED = "failed", "failed"


class AnswerVerdict(models.Model):
    """What a judge said of one answer, in one repetition.

    Of an agent's answer `item` and `round`, of a trial of the judge the `tier`. `scores` and
    `weights` are by aspect id, the weights as they were when it was judged. `attempts` say why
    earlier replies could not be used.
    """

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="verdicts")
    item = models.ForeignKey(
        AgentItem, null=True, on_delete=models.CASCADE, related_name="verdicts"
    )
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    round = models.PositiveSmallIntegerField(default=0)
    tier = models.CharField(max_length=12, blank=True, default="")
    repetition = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(
        max_length=8, choices=VerdictState.choices, default=VerdictState.WAITING
    )
    quality = models.PositiveSmallIntegerField(null=True)
    completeness = models.PositiveSmallIntegerField(null=True)
    scores = models.JSONField(default=dict)
    weights = models.JSONField(default=dict)
    justification = models.TextField(blank=True, default="")
    attempts = models.JSONField(default=list)
    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "item", "query", "round", "tier", "repetition"],
                name="answer_judged_once",
            ),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="answer_verdict_waiting")]

    def __str__(self) -> str:
        return f"verdict {self.pk} of judge run {self.run_id}"
