"""Holding the debates of a trial: the rules and the gateway of a run, none of its outcomes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

from django.db import connection

from debate import dream
from debate.models import DebateStatus, Trial, TrialItem
from debate.runs.kinds import debate_config
from debate.trials.canaries import BAITS
from debate.trials.prompts import template_of
from debate.trials.services import Tried, store_tried
from kit.runs import worker_id
from llm.endpoints import Endpoint, fence_key
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.ledger.accounts import open_account

T = TypeVar("T")
# Small enough that progress is seen, and that a kill repeats little (from the ledger, unpaid).
_GROUP = 20


def try_all(trial: Trial, endpoint: Endpoint) -> None:
    """Hold every waiting debate of a trial that this process has claimed, then finish it.

    Raises LostLease if it was cancelled or taken over meanwhile, Stopping if this process is to
    end, PromptGone if the prompt of its run is gone.
    """
    asyncio.run(_try_all(trial, endpoint))


async def _try_all(trial: Trial, endpoint: Endpoint) -> None:
    # One thread of its own for the database, as the pump has.
    database = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trial-db")

    async def stored(function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(database, function)

    try:
        config = await stored(partial(_config, trial))
        account = await stored(partial(open_account, trial.run))  # a trial spends its run's money
        async with Gateways(
            concurrency=trial.run.calls_in_flight,
            owner=worker_id(),
            known=[endpoint],
            account_id=account.pk,
            must_be_priced=account.limit_units is not None,
        ) as gateways:
            while items := await stored(partial(_waiting, trial)):
                tries = (_try(item, config, gateways, trial.run.max_tokens) for item in items)
                results = await asyncio.gather(*tries)
                await stored(partial(store_tried, trial=trial, results=results))
                await stored(trial.beat)
        await stored(trial.finish)
    finally:
        await stored(lambda: connection.close())  # the thread's own connection
        database.shutdown(wait=False)


async def _try(item: TrialItem, config: dream.Config, gateways: Gateways, max_tokens: int) -> Tried:
    debate = item.debate
    text = debate.passage.text or ""
    bait = BAITS.get(item.bait)
    pair = dream.Pair(
        query=debate.query.text,
        answers=tuple(debate.query.answers),
        passage=bait(debate.query.text, text) if bait else text,
    )
    calls: list[tuple[int, str, int]] = []

    async def ask(request: dream.TurnRequest) -> dream.Answer:
        subject = f"trial:{item.pk}:r{request.round}:{request.agent.name}"
        try:
            asked = request.as_llm_request()
            if not asked.max_tokens:
                asked = replace(asked, max_tokens=max_tokens)
            reply = await gateways.complete(asked, subject)
        except LLMError as error:
            return error
        calls.append((request.round, request.agent.name, reply.call_id))
        return reply.text

    steps = dream.debate(pair, config, fence_key())
    try:
        requests = next(steps)
        while True:
            requests = steps.send(list(await asyncio.gather(*map(ask, requests))))
    except StopIteration as end:
        verdict: dream.Verdict = end.value
        return Tried(item.pk, _in_words(verdict), tuple(calls))


def _in_words(verdict: dream.Verdict) -> dream.Verdict:
    """A failed call without the endpoint's own words, which may name its address."""
    return replace(verdict, detail="A call failed.") if verdict.status == "failed" else verdict


def _config(trial: Trial) -> dream.Config:
    config = debate_config(trial.run)
    return replace(config, prompt=template_of(trial.prompt)) if trial.prompt else config


def _waiting(trial: Trial) -> list[TrialItem]:
    rows = trial.items.filter(status=DebateStatus.WAITING)
    return list(rows.select_related("debate__query", "debate__passage").order_by("pk")[:_GROUP])
