"""Starting, limiting and stopping runs in which a model writes reference answers.

What became of the queries of an answer run; and choosing what is sound in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet

from annotate.answers.evidence import check, material_of, materials
from annotate.answers.services import Making, choose_answer, record_model_answer
from annotate.models import ReferenceAnswer
from corpus.judgments.services import hold_queries
from corpus.models import Benchmark, Query
from debate.answering.asking import Settings, Task, Written, default_prompt
from debate.answers.plans import all_materials, task_of
from debate.models import AnswerItem, AnswerItemState, AnswerRun
from kit import audit
from kit.errors import Refused
from kit.runs.models import wake
from llm.endpoints import Endpoint, in_role
from llm.errors import CannotGoOn, LLMError
from llm.ledger.accounts import check_budget, open_account
from llm.requests import EFFORTS


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
    if not 0 <= temperature <= 2:
        raise Refused("The temperature is a number from 0 to 2.", field="temperature")
    if reasoning_effort not in ("", *EFFORTS):
        words = f"The reasoning effort is one of {', '.join(EFFORTS)}, or left to the model."
        raise Refused(words, field="reasoning_effort")
    found = list(all_materials(queries))
    ready = [each.query for each in found if not each.unready]
    if not ready:
        why = found[0].unready if len(found) == 1 else "No query is ready for an answer."
        raise Refused(why)
    endpoint = in_role(endpoint, "answerer")
    check_budget(budget_usd, [(endpoint.name, endpoint.default_model)])
    prompt = default_prompt()
    config = {
        "temperature": temperature,
        "with_weights": with_weights,
        "reasoning_effort": reasoning_effort,
        "prompt": prompt.sha256,
        "prompt_version": prompt.version,
    }
    with transaction.atomic():
        run = AnswerRun.objects.create(
            benchmark=benchmark,
            config=config,
            endpoint=endpoint.name,
            model=endpoint.default_model,
            practice=endpoint.is_practice,
            budget_usd=budget_usd,
            calls_in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
            total=len(ready),
            created_by=actor,
        )
        items = [AnswerItem(run=run, query=query) for query in ready]
        AnswerItem.objects.bulk_create(items, batch_size=1000)
        open_account(run)
        _note(run, actor, "start answers", queries=len(ready))
        if claimed:
            run.claim()
        else:
            wake(run)
    return run


def settings_of(run: AnswerRun) -> Settings:
    """The model as it was frozen. Raises CannotGoOn where the prompt changed since."""
    prompt = default_prompt()
    if prompt.sha256 != run.config["prompt"]:
        raise CannotGoOn("The prompt changed since this run was made; start a new run.")
    return Settings(
        run.endpoint,
        run.model,
        prompt,
        temperature=run.config["temperature"],
        with_weights=run.config["with_weights"],
        # Runs of before have none.
        reasoning_effort=run.config.get("reasoning_effort", ""),
    )


def _note(run: AnswerRun, actor: User | None, verb: str, **data: object) -> None:
    audit.record(actor=actor, verb=verb, target=run, scope=run.benchmark.slug, data=data)


@dataclass(frozen=True)
class Job:
    """A waiting query with what the model is given; no task where it is not ready any more."""

    row: AnswerItem
    task: Task | None
    fault: str = ""

    @property
    def pk(self) -> int:
        """The row's key."""
        return self.row.pk


@dataclass(frozen=True)
class Outcome:
    """What became of a job; with a `failure` the endpoint gave nothing."""

    job: Job
    written: Written | None
    failure: LLMError | None = None


def read_jobs(items: QuerySet[AnswerItem]) -> list[Job]:
    """These waiting queries with their aspects and passages as they are now."""
    rows = list(items.select_related("query__domain__benchmark"))
    found = materials([each.query for each in rows])
    return [
        Job(row, None, material.unready) if material.unready else Job(row, task_of(material))
        for row in rows
        for material in [found[row.query_id]]
    ]


def store_outcomes(*, run: AnswerRun, outcomes: Sequence[Outcome]) -> int:
    """Write a group of outcomes, in the caller's transaction; how many are the first of theirs."""
    # In one order, before any of them: whoever else writes here waits, and nobody in a circle.
    hold_queries([each.job.row.query_id for each in outcomes])
    waiting = run.waiting_items().filter(pk__in=[each.job.pk for each in outcomes])
    still = set(waiting.values_list("pk", flat=True))
    ended = {each.job.pk: each for each in reversed(outcomes) if each.job.pk in still}
    for outcome in ended.values():
        _store(run, outcome)
    return len(ended)


def choose_sound(*, run: AnswerRun, actor: User) -> tuple[int, int]:
    """Let releases publish every sound answer of the run where nothing else is chosen.

    Gives how many were chosen and how many were left: answers with faults, that do not stand any
    more, that are kept from this person, or beside one that was chosen before.
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


def _store(run: AnswerRun, outcome: Outcome) -> None:
    row, written = outcome.job.row, outcome.written
    if outcome.failure is not None:
        row.state, row.error = AnswerItemState.FAILED, outcome.failure.words
    elif written is None or not written.text:
        row.state = AnswerItemState.FAILED
        row.error = written.fault if written else outcome.job.fault
    else:
        making = Making(
            endpoint=run.endpoint,
            model=run.model,
            prompt_version=run.config["prompt_version"],
            prompt_sha256=run.config["prompt"],
            practice=run.practice,
            call=written.call,
        )
        query: Query = row.query
        row.answer = record_model_answer(query=query, text=written.text, making=making)
        # As things stand now: gold may have changed while the model wrote.
        report = check(material_of(query), written.text)
        row.state = AnswerItemState.WRITTEN if report.is_sound else AnswerItemState.FAULTY
        faults = [*report.errors, *(f for f in report.findings if f.check == "uncovered")]
        row.error = " ".join(each.message for each in faults)
    row.asked = written.asked if written else 0
    row.save()
