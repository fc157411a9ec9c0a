"""Judging agents' answers, and trying the judge itself on answers of known order."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotate.answers.evidence import answers_in
from annotate.models import Aspect
from corpus.models import Benchmark, CorpusVersion, Query
from evaluation.agents.models import (
    AgentRun,
    AgentState,
    AnswerVerdict,
    JudgeRun,
    VerdictState,
)
from evaluation.agents.protocol.asking import prompt_of
from evaluation.agents.protocol.judging import (
    TIERS,
    Exam,
    Judge,
    JudgeMode,
    Judging,
    NoVerdict,
    Verdict,
    falls_strictly,
    judge,
    judge_request,
    tiers_of,
)
from evaluation.agents.reading import is_same
from kit.errors import Refused
from kit.runs.models import RunGroup, RunStatus
from kit.runs.moves import retry_items
from llm import pump
from llm.endpoints import Endpoint, fence_key
from llm.ledger.accounts import asked_of, check_sampling, start_asking
from llm.prices import costs
from llm.profiles import likely_input
from llm.requests import Usage

ROLE: Final = "grader"
MOST_REPETITIONS: Final = 20
_LIKELY_OUTPUT: Final = 250
NO_ANSWER: Final = "The agent gave no answer in this round."
NO_ASPECTS: Final = "The query has no aspects any more."


def start_judging(
    *,
    benchmark: Benchmark,
    agent_run: AgentRun | None,
    endpoint: Endpoint,
    actor: User | None,
    mode: str = JudgeMode.RUBRIC,
    repetitions: int = 1,
    temperature: float = 0.0,
    reasoning_effort: str = "",
    budget_usd: Decimal | None = None,
    bridge_from: JudgeRun | None = None,
    drawn: Sequence[dict[str, Any]] = (),
    swapped: bool = False,
    claimed: bool = False,
) -> JudgeRun:
    """Let a model judge every answer of an agent run, or for a bridge those that were drawn;
    without both, references, their openings and a platitude, to see whether it tells them apart.
    With `swapped` it sees the aspects of a query the other way round.

    Raises Refused where there is nothing to judge, where this judge failed its last such trial,
    for a bridge to itself, and for a budget that cannot be.
    """
    if mode not in list(JudgeMode):
        raise Refused(f"The modes are {', '.join(JudgeMode)}.", field="mode")
    if not 1 <= repetitions <= MOST_REPETITIONS:
        raise Refused(f"Repetitions are 1 to {MOST_REPETITIONS}.", field="repetitions")
    check_sampling(temperature, reasoning_effort)
    prompt = prompt_of(JudgeMode(mode).role)
    run = JudgeRun(
        benchmark=benchmark,
        agent_run=agent_run,
        bridge_from=bridge_from,
        mode=mode,
        repetitions=repetitions,
        config={
            "temperature": temperature,
            "reasoning_effort": reasoning_effort,
            "prompt": prompt.sha256,
            "prompt_version": prompt.version,
            # Kept where it is so: a judge of before it could be chosen is the same judge.
            **({"swapped": True} if swapped else {}),
        },
        **asked_of(endpoint, ROLE),
        budget_usd=budget_usd,
    )
    rows = _rows_of(run, drawn)
    run.total = len(rows) * repetitions
    verb = "judge answers" if agent_run else "bridge judges" if bridge_from else "try a judge"
    verdicts = (
        AnswerVerdict(run=run, repetition=number, **row)
        for row in rows
        for number in range(repetitions)
    )
    said = {"answers": len(rows), "repetitions": repetitions}
    return start_asking(run, verdicts, actor=actor, verb=verb, claimed=claimed, **said)


def _rows_of(run: JudgeRun, drawn: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """What this run is to judge. Raises Refused where that is nothing, and for a failed judge."""
    if run.is_trial:
        rows: Sequence[dict[str, Any]] = _tiers_of(run.benchmark)
        if not rows:
            raise Refused("No query has aspects and a reference answer of 40 words or more.")
        return rows
    _refuse_failed(run)
    if run.bridge_from is not None:
        if is_same(run, run.bridge_from):
            raise Refused(
                "This is the judge itself: a bridge leads to another model, mode or prompt.",
                field="endpoint",
            )
        rows = drawn
    else:
        assert run.agent_run is not None
        rows = answers_of(run.agent_run)
    if not rows:
        raise Refused("This run has no answer to judge yet.")
    return rows


def retry_failed(*, run: JudgeRun, actor: User | None) -> None:
    """Judge again what got no verdict, and that alone; what was paid for is read again, not asked
    again, so that only calls without an answer can end otherwise. Raises Refused."""
    retry_items(run, run.verdicts.all(), actor=actor, noun="verdict", nouns="verdicts")


def judge_of(run: JudgeRun) -> Judge:
    """The judge as it was frozen. Raises Refused where its prompt changed since."""
    mode = JudgeMode(run.mode)
    if prompt_of(mode.role).sha256 != run.config["prompt"]:
        raise Refused("The judge's prompt changed since this run was made; start a new run.")
    return Judge(
        run.endpoint,
        run.model,
        mode,
        temperature=run.config["temperature"],
        reasoning_effort=run.config["reasoning_effort"],
        swapped=bool(run.config.get("swapped")),
    )


Job: TypeAlias = pump.Job[AnswerVerdict, Exam, Verdict | NoVerdict]


class JudgePump(pump.ExamPump[AnswerVerdict, Exam, Verdict | NoVerdict]):
    """One worker's drive of its share of a judge run."""

    run: JudgeRun
    words = ("answer", "answers")

    def prepare(self) -> None:
        """Who judges."""
        self.judge = judge_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting answers with what the judge is given."""
        rows = group.within(self.run.waiting_items()).select_related("query__domain", "item")
        return read_jobs(list(rows), self.run.benchmark)

    def steps(self, row: AnswerVerdict, exam: Exam) -> Judging:
        """Ask until a reply is valid."""
        return judge(exam, self.judge, self.key)

    def store(self, results: Sequence[Job]) -> int:
        """Verdicts of a group."""
        for each in results:
            _store(each)
        return len(results)


def read_jobs(rows: Sequence[AnswerVerdict], benchmark: Benchmark) -> list[Job]:
    """These rows with question, aspects as they are now, reference and answer."""
    queries = {row.query_id: row.query for row in rows}
    aspects = aspects_of(list(queries))
    references = references_of(benchmark, queries)
    jobs = []
    for row in rows:
        reference = references.get(row.query_id, "")
        answer = row.item.answer_after(row.round) if row.item else None
        text = answer["text"] if answer else tiers_of(reference).get(row.tier, "")
        own = tuple((each.k, each.content, each.weight) for each in aspects.get(row.query_id, ()))
        fault = NO_ASPECTS if not own else "" if text else NO_ANSWER
        exam = None if fault else Exam(row.query.text, own, reference, text, row.repetition)
        jobs.append(Job(row, exam, fault))
    return jobs


def aspects_of(queries: Sequence[int]) -> dict[int, list[Aspect]]:
    """Present aspects by query, by k."""
    found: dict[int, list[Aspect]] = {}
    rows = Aspect.objects.filter(query__in=queries, removed_at=None).order_by("query_id", "k")
    for each in rows:
        found.setdefault(each.query_id, []).append(each)
    return found


def references_of(benchmark: Benchmark, queries: Mapping[int, Query]) -> dict[int, str]:
    """Published reference answers by query, in the ids of the current corpus version."""
    version = CorpusVersion.objects.current(benchmark)
    domains = {query.domain_id: query.domain for query in queries.values()}
    return {
        pk: published.text
        for domain in domains.values()
        for pk, published in answers_in(version, domain).items()
        if pk in queries and published.text
    }


def forecast(
    agent_run: AgentRun, endpoint: Endpoint | None, *, mode: str, repetitions: int = 1
) -> dict[str, Any]:
    """What judging a run's answers is likely to take; `usd` is None without a known price."""
    rows = [AnswerVerdict(query=row.pop("query"), **row) for row in answers_of(agent_run)]
    jobs = read_jobs(rows, agent_run.benchmark)
    who = Judge("", "", JudgeMode(mode))
    asked = [judge_request(each.exam, who, fence_key()) for each in jobs if each.exam]
    usage = Usage(
        input=repetitions * sum(map(likely_input, asked)),
        output=repetitions * len(asked) * _LIKELY_OUTPUT,
    )
    many = len(asked) * repetitions
    return {"queries": many, "calls": many, **costs(usage, endpoint)}


def trial_of(run: JudgeRun) -> dict[str, list[float]] | None:
    """Mean completeness and quality of each tier, in their order; None while one is missing."""
    found: dict[str, list[float]] = {"completeness": [], "quality": []}
    for tier in TIERS:
        rows = run.verdicts.filter(tier=tier, state=VerdictState.JUDGED)
        pairs = list(rows.values_list("completeness", "quality"))
        if not pairs:
            return None
        found["completeness"].append(sum(pair[0] or 0 for pair in pairs) / len(pairs))
        found["quality"].append(sum(pair[1] or 0 for pair in pairs) / len(pairs))
    return found


def answers_of(agent_run: AgentRun) -> list[dict[str, Any]]:
    """Every answer of a run, as the beginning of a verdict on it."""
    done = agent_run.items.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
    return [
        {"item": item, "query": item.query, "round": answer["round"]}
        for item in done.select_related("query__domain").order_by("pk")
        for answer in item.answers
    ]


def _tiers_of(benchmark: Benchmark) -> list[dict[str, Any]]:
    rows: QuerySet[Query] = Query.objects.in_benchmark(benchmark).select_related("domain")
    queries = {query.pk: query for query in rows.order_by("pk")}
    references = references_of(benchmark, queries)
    aspects = aspects_of(list(references))
    return [
        {"query": queries[pk], "tier": tier}
        for pk in sorted(references)
        if pk in aspects
        for tier in tiers_of(references[pk])
    ]


def _refuse_failed(run: JudgeRun) -> None:
    """A judge that could not tell answers of known order apart is not asked about others."""
    tried = run.benchmark.judge_runs.filter(
        agent_run=None,
        bridge_from=None,
        endpoint=run.endpoint,
        model=run.model,
        mode=run.mode,
        config__prompt=run.config["prompt"],
        status=RunStatus.DONE,
    )
    last = tried.order_by("-pk").first()
    means = trial_of(last) if last else None
    if means and not all(map(falls_strictly, means.values())):
        raise Refused(
            "This judge failed its last trial: reference, opening and platitude did not fall "
            "strictly on both scores. Choose another judge.",
            field="endpoint",
        )


def _store(job: Job) -> None:
    row, said = job.row, job.said
    row.state = VerdictState.FAILED
    if job.failure is not None:
        row.error = job.failure.words
    elif said is None:
        row.error = job.fault
    else:
        row.attempts, row.call_id = list(said.attempts), said.call or None
        if isinstance(said, NoVerdict):
            row.error = "No reply of the judge could be used."
        else:
            row.state = VerdictState.JUDGED
            row.quality, row.completeness = said.quality, said.completeness
            row.scores, row.justification = dict(said.scores), said.justification
            row.error = f"Scores nobody asked for: {', '.join(said.extra)}." if said.extra else ""
    if job.exam is not None:
        row.weights = {f"a{k}": weight for k, _, weight in job.exam.aspects}
    row.save()
