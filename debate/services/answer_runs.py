"""Starting, limiting and stopping runs in which a model writes reference answers."""

from collections.abc import Collection
from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from corpus.models import Benchmark, Query
from debate.answering.asking import (
    MAX_TOKENS,
    Settings,
    default_prompt,
)
from debate.models import AnswerItem, AnswerItemState, AnswerRun
from debate.services.answer_plans import all_materials
from debate.services.budget import check_budget
from kit import audit
from kit.errors import Refused
from kit.runs import RunStatus, wake
from llm.endpoints import Endpoint
from llm.failures import CannotGoOn
from llm.models import Account, to_units
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
    if budget_usd is not None:
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


def pause_answers(*, run: AnswerRun, actor: User) -> None:
    """Stop after the calls in flight; what is written stays."""
    _move(run, RunStatus.PAUSED, actor, "pause answers")


def resume_answers(*, run: AnswerRun, actor: User) -> None:
    """Go on where a paused or failed run stopped; paid answers are not paid again."""
    with transaction.atomic():
        _move(run, RunStatus.QUEUED, actor, "resume answers")
        AnswerRun.objects.filter(pk=run.pk).update(pause_reason="")
    wake(run)


def cancel_answers(*, run: AnswerRun, actor: User) -> None:
    """Stop for good; answers that were written stay."""
    _move(run, RunStatus.CANCELLED, actor, "cancel answers")


def set_answer_budget(*, run: AnswerRun, usd: Decimal | None, actor: User | None) -> None:
    """Limit what the run may spend from its next call on; None lifts the limit."""
    if usd is not None:
        check_budget(usd, [(run.endpoint, run.model)])
    with transaction.atomic():
        limit = None if usd is None else to_units(usd)
        Account.objects.filter(pk=open_account(run).pk).update(limit_units=limit)
        AnswerRun.objects.filter(pk=run.pk).update(budget_usd=usd)
        run.budget_usd = usd
        _note(run, actor, "set budget of answers", usd=None if usd is None else str(usd))


def open_account(run: AnswerRun) -> Account:
    """The run's account, made when it is first needed."""
    with transaction.atomic():
        row = AnswerRun.objects.select_for_update().get(pk=run.pk)
        if row.account is None:
            limit = None if row.budget_usd is None else to_units(row.budget_usd)
            row.account = Account.objects.create(name=f"answer run {run.pk}", limit_units=limit)
            AnswerRun.objects.filter(pk=run.pk).update(account=row.account)
    run.account = row.account
    assert run.account is not None  # it was there or was made above
    return run.account


def budget_words(run: AnswerRun) -> str:
    """Why a run paused for its budget, and what to do."""
    account = open_account(run)
    waiting = run.items.filter(state=AnswerItemState.WAITING).count()
    return (
        f"The budget of ${account.limit_usd or Decimal(0):,.2f} has no room for the next call: "
        f"${account.spent_usd:,.4f} spent, ${account.reserved_usd:,.4f} held; an answer may take "
        f"up to {MAX_TOKENS:,} tokens. {waiting} queries keep waiting. Raise the budget, then "
        "resume the run."
    )


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


def _move(
    run: AnswerRun, to: str, actor: User, verb: str, *, sources: Collection[str] = ()
) -> None:
    with transaction.atomic():
        if not run.move(to, sources=sources):
            raise Refused(f"This run is {run.get_status_display().lower()} already.")
        _note(run, actor, verb)


def _note(run: AnswerRun, actor: User | None, verb: str, **data: object) -> None:
    audit.record(actor=actor, verb=verb, target=run, scope=run.benchmark.slug, data=data)
