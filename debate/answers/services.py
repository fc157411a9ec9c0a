"""Starting, limiting and stopping runs in which a model writes reference answers.

What became of the queries of an answer run; and choosing what is sound in it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet

from annotate.answers.evidence import AnswerEvidence, check, material_of, materials
from annotate.answers.services import choose_answer, record_model_answer
from annotate.models import Aspect, ReferenceAnswer
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Query
from debate.answering.asking import (
    ROLE,
    AspectText,
    CheckedAnswer,
    PassageText,
    Settings,
    Task,
    default_prompt,
    request,
    write,
)
from debate.models import AnswerItem, AnswerItemState, AnswerRun
from kit.errors import Refused
from kit.runs.models import RunGroup
from llm import pump
from llm.endpoints import Endpoint, fence_key
from llm.gateway import Gateways
from llm.ledger.accounts import asked_of, check_sampling, start_asking
from llm.prices import costs
from llm.profiles import likely_input
from llm.requests import Request, Usage


def start_answers(
    *,
    benchmark: Benchmark,
    queries: QuerySet[Query],
    endpoint: Endpoint,
    actor: User | None,
    budget_usd: Decimal | None = None,
    temperature: float = 0.0,
    with_weights: bool = True,
    reasoning_effort: str = "",
    claimed: bool = False,
) -> AnswerRun:
    """Make a run over those of the queries that are ready, and wake a worker.

    `claimed` keeps the run for the calling process. Raises Refused where none is ready, and for a
    budget that cannot be, or of a model without a known price.
    """
    check_sampling(temperature, reasoning_effort)
    found = list(all_materials(queries))
    ready = [each.query for each in found if not each.unready]
    if not ready:
        why = found[0].unready if len(found) == 1 else "No query is ready for an answer."
        raise Refused(why)
    prompt = default_prompt()
    config = {
        "temperature": temperature,
        "with_weights": with_weights,
        "reasoning_effort": reasoning_effort,
        "prompt": prompt.sha256,
        "prompt_version": prompt.version,
    }
    run = AnswerRun(
        benchmark=benchmark,
        config=config,
        **asked_of(endpoint, "answerer"),
        budget_usd=budget_usd,
        total=len(ready),
    )
    items = (AnswerItem(run=run, query=query) for query in ready)
    return start_asking(
        run, items, actor=actor, verb="start answers", claimed=claimed, queries=len(ready)
    )


def settings_of(run: AnswerRun) -> Settings:
    """The model as it was frozen. Raises Refused where the prompt changed since."""
    prompt = default_prompt()
    if prompt.sha256 != run.config["prompt"]:
        raise Refused("The prompt changed since this run was made; start a new run.")
    return Settings(
        run.endpoint,
        run.model,
        prompt,
        temperature=run.config["temperature"],
        with_weights=run.config["with_weights"],
        # Runs of before have none.
        reasoning_effort=run.config.get("reasoning_effort", ""),
    )


# A waiting query with what the model is given; without, it is not ready any more.
Job: TypeAlias = pump.Job[AnswerItem, Task, CheckedAnswer]


def read_jobs(items: QuerySet[AnswerItem]) -> list[Job]:
    """These waiting queries with their aspects and passages as they are now."""
    rows = list(items.select_related("query__domain__benchmark"))
    found = materials([each.query for each in rows])
    return [
        Job(row, None, material.unready) if material.unready else Job(row, task_of(material))
        for row in rows
        for material in [found[row.query_id]]
    ]


def store_outcomes(*, run: AnswerRun, outcomes: Sequence[Job]) -> int:
    """Write a group of outcomes, in the caller's transaction; how many are the first of theirs."""
    # In one order, before any of them: whoever else writes here waits, and nobody in a circle.
    lock_queries([each.row.query_id for each in outcomes])
    waiting = run.waiting_items().filter(pk__in=[each.row.pk for each in outcomes])
    still = set(waiting.values_list("pk", flat=True))
    ended = {each.row.pk: each for each in reversed(outcomes) if each.row.pk in still}
    for outcome in ended.values():
        _store(run, outcome)
    return len(ended)


def choose_sound(*, run: AnswerRun, actor: User) -> tuple[int, int]:
    """Let releases publish every sound answer of the run where nothing else is chosen.

    Gives how many were chosen and how many were left: answers with faults, that do not stand any
    more, that are kept from this person, or of a query that has a published one.
    """
    chosen = left = 0
    items = run.items.filter(answer__isnull=False).select_related(
        "answer__query__domain__benchmark"
    )
    for item in items.order_by("query_id").iterator(chunk_size=500):
        answer = item.answer
        assert answer is not None  # filtered above
        try:
            chosen += _choose_one(answer, actor)
        except (Refused, PermissionDenied):
            left += 1
            continue
    return chosen, items.count() - chosen


def _choose_one(answer: ReferenceAnswer, actor: User) -> bool:
    if ReferenceAnswer.objects.chosen().filter(query=answer.query_id).exists():
        return False
    if not check(material_of(answer.query), answer.text).is_sound:
        return False
    choose_answer(answer=answer, actor=actor)
    return True


def _store(run: AnswerRun, outcome: Job) -> None:
    row, written = outcome.row, outcome.said
    if outcome.failure is not None:
        row.state, row.error = AnswerItemState.FAILED, outcome.failure.words
    elif written is None or not written.text:
        row.state = AnswerItemState.FAILED
        row.error = written.fault if written else outcome.fault
    else:
        query: Query = row.query
        row.answer = record_model_answer(
            query=query,
            text=written.text,
            endpoint=run.endpoint,
            model=run.model,
            prompt_version=run.config["prompt_version"],
            prompt_sha256=run.config["prompt"],
            practice=run.practice,
            call=written.call,
        )
        # As things stand now: gold may have changed while the model wrote.
        report = check(material_of(query), written.text)
        row.state = AnswerItemState.WRITTEN if report.is_sound else AnswerItemState.FAULTY
        faults = [*report.errors, *(f for f in report.findings if f.check == "uncovered")]
        row.error = " ".join(each.message for each in faults)
    row.asked = written.asked if written else 0
    row.save()


class AnswerPump(pump.Pump[Job, Job]):
    """One worker's drive of its share of an answer run."""

    run: AnswerRun
    words = ("query", "queries")

    def prepare(self) -> None:
        """What every answer is asked for with."""
        self.settings = settings_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with what the model is given."""
        return read_jobs(group.within(self.run.waiting_items()))

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Ask for one answer, and once more where the first cannot be taken."""
        if item.exam is None:
            return item

        async def ask(request: Request) -> tuple[str, int]:
            reply = await gateways.complete(request, f"{ROLE}:{item.row.query_id}")
            return reply.text, reply.call_id

        written = await write(item.exam, self.settings, key=self.key, ask=ask)
        return replace(item, said=written)

    def store(self, results: Sequence[Job]) -> int:
        """Answers of a group."""
        return store_outcomes(run=self.run, outcomes=results)


# Tokens of an answer of several paragraphs; and how often one is asked for twice, a guess.
_LIKELY_ANSWER: Final = 1_200
_AGAIN: Final = 1.2
_AT_ONCE: Final = 200
_MOST_NAMED: Final = 20


def candidates(benchmark: Benchmark, *, domain: str = "", again: bool = False) -> QuerySet[Query]:
    """Queries with aspects, of one domain or all; without `again`, those no model has answered."""
    written = Exists(Aspect.objects.filter(query=OuterRef("pk"), removed_at=None))
    found = Query.objects.in_benchmark(benchmark).filter(written, domain__is_ready=True)
    if domain:
        found = found.filter(domain__name=domain)
    if not again:
        answers = ReferenceAnswer.objects.standing().by_models().filter(query=OuterRef("pk"))
        found = found.exclude(Exists(answers))
    return found.select_related("domain__benchmark").order_by("pk")


def forecast(
    queries: QuerySet[Query], endpoint: Endpoint | None, *, with_weights: bool = True
) -> dict[str, Any]:
    """What a run is likely to take, from the prompts as they would be sent.

    Answers in the ledger already are not taken off; `usd` is None where the model has no known
    price. `unready` pairs queries that are left out with the reason, the first of `left_out`.
    """
    tokens, ready, left_out = 0, 0, 0
    unready: list[tuple[Query, str]] = []
    shape = Settings("", "", default_prompt(), with_weights=with_weights)
    for material in all_materials(queries):
        if material.unready:
            left_out += 1
            if len(unready) < _MOST_NAMED:
                unready.append((material.query, material.unready))
            continue
        ready += 1
        tokens += likely_input(request(task_of(material), shape, key=fence_key()))
    usage = Usage(input=round(_AGAIN * tokens), output=round(_AGAIN * ready * _LIKELY_ANSWER))
    return {
        "queries": ready,
        "calls": round(_AGAIN * ready),
        **costs(usage, endpoint),
        "left_out": left_out,
        "unready": unready,
    }


def task_of(material: AnswerEvidence) -> Task:
    """What a model is given: aspects, and the passages that have a text, each under the number
    that citations in answers count by."""
    supports = {each.pk: aspect.k for aspect, own in material.aspects for each in own}
    return Task(
        query=material.query.text,
        aspects=tuple(
            AspectText(each.k, each.content, each.weight, material.top(each))
            for each, _ in material.aspects
        ),
        passages=tuple(
            PassageText(f"doc_{number}", each.pid, supports[each.pk], each.text or "")
            for number, each in enumerate(material.passages, start=1)
            if each.text
        ),
    )


def all_materials(queries: QuerySet[Query]) -> Iterator[AnswerEvidence]:
    """AnswerEvidence of many queries, some at a time."""
    keys: Sequence[int] = list(queries.values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        part = Query.objects.filter(pk__in=keys[start : start + _AT_ONCE]).order_by("pk")
        yield from materials(part.select_related("domain__benchmark")).values()
