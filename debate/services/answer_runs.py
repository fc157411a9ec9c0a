"""Starting, limiting and stopping runs in which a model writes reference answers."""

from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from corpus.models import Benchmark, Query
from debate.answering.asking import Settings, default_prompt
from debate.models import AnswerItem, AnswerRun
from debate.services.answer_plans import all_materials
from kit import audit
from kit.errors import Refused
from kit.run_moves import move_run
from kit.runs import RunStatus, wake
from llm.endpoints import Endpoint, in_role
from llm.errors import CannotGoOn
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


def _move(run: AnswerRun, to: str, actor: User, verb: str) -> None:
    move_run(run, to, actor=actor, verb=verb, scope=run.benchmark.slug)


def _note(run: AnswerRun, actor: User | None, verb: str, **data: object) -> None:
    audit.record(actor=actor, verb=verb, target=run, scope=run.benchmark.slug, data=data)
