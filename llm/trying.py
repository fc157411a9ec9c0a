"""Trying whether a model answers: one tiny call, with the seconds, the price, or the exact refusal.

By hand (`manage.py check_endpoint`, the page of endpoints), and before a run's first call to a
model that nobody has tried: so a wrong key is reported before an item is touched. The call
teaches how the model is asked, is in the ledger, and is charged to nobody's budget.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Final

from django.conf import settings
from django.utils import timezone

from kit.errors import Refused
from llm import endpoints
from llm.embeddings import embedding_request
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, WrongSetup, without_secrets
from llm.gateway import Gateways
from llm.models import Call, ModelProfile, key_of
from llm.practice.completion import CHECK
from llm.prices import table
from llm.requests import Reply, Request, object_schema

# A page waits for it, and gives up after thirty seconds.
DEADLINE_S: Final = 25.0
EMBEDDER: Final = "embedder"
_SCHEMA: Final = object_schema(ok={"type": "boolean"})
# Room for what a reasoning model thinks about it.
_MOST_TOKENS: Final = 1_000


@dataclass(frozen=True)
class Task:
    """A model at an endpoint, and the roles that it has there; "" is the endpoint's own model."""

    endpoint: Endpoint
    model: str
    roles: tuple[str, ...]

    @property
    def embeds(self) -> bool:
        """Whether it is asked for vectors; no model both writes and embeds."""
        return self.roles == (EMBEDDER,)


@dataclass(frozen=True)
class EndpointCheck:
    """What is known of a model, and what came of its last trial; no address and no key.

    `asked` is how it is asked, `refusals` what taught that, `price` what a million tokens cost.
    Tokens and USD are those of a trial just made. `fault` says why the last one had no answer.
    """

    endpoint: str
    model: str
    roles: tuple[str, ...]
    asked: str
    refusals: tuple[str, ...]
    price: str
    practice: bool = False
    tried_at: datetime | None = None
    seconds: float | None = None
    fault: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: Decimal | None = None


def tasks(endpoint: Endpoint, role: str = "") -> list[Task]:
    """Whom a trial of this endpoint asks: its own model and those of its roles, or of one role."""
    found: dict[tuple[str, bool], list[str]] = {} if role else {(endpoint.default_model, False): []}
    chosen = endpoints.roles()
    for each in [role] if role else [each for each in endpoints.ROLES if each in chosen]:
        placed = endpoints.for_role(each)
        if placed.name == endpoint.name:
            found.setdefault((placed.default_model, each == EMBEDDER), []).append(each)
        elif role:
            found[endpoint.default_model, each == EMBEDDER] = [each]
    return [Task(endpoint, model, tuple(names)) for (model, _), names in found.items()]


def try_endpoint(endpoint: Endpoint, role: str = "") -> list[EndpointCheck]:
    """One tiny call to each of its models, at once, each new and paid for."""

    async def try_all() -> list[EndpointCheck]:
        async with _gateways([endpoint]) as gateways:
            trials = (_try(gateways, task) for task in tasks(endpoint, role))
            return [tried for tried, _ in await asyncio.gather(*trials)]

    return asyncio.run(try_all())


async def demand_answers(
    choices: Iterable[tuple[str, str]],
    *,
    find: Callable[[str], Endpoint],
    embeds: bool = False,
    executor: Executor | None = None,
) -> None:
    """Try those of these (endpoint, model) whose last trial, if any, had no answer; before a run.

    Raises Refused in the endpoint's words where settings are at fault. Whatever else is wrong
    is the run's own business: it waits for endpoints that are away.
    """
    if not settings.ASSAY_TRY_FIRST:
        return
    roles = (EMBEDDER,) if embeds else ()
    # Where people judge alone nobody is asked, so no model is named.
    to_check = [Task(find(name), model, roles) for name, model in dict.fromkeys(choices) if model]
    async with _gateways([task.endpoint for task in to_check], executor) as gateways:
        for task in to_check:
            if task.endpoint.is_practice or await gateways.in_database(partial(_answers, task)):
                continue
            _, error = await _try(gateways, task)
            if isinstance(error, WrongSetup):
                raise Refused(error.words)


def standing(task: Task, call: Call | None = None) -> EndpointCheck:
    """What is known of this model without asking it, and of the `call` that was just made."""
    row = ModelProfile.objects.of(task.endpoint, task.model)
    asked, refusals = row.told(task.endpoint)
    return EndpointCheck(
        endpoint=task.endpoint.name,
        model=task.model,
        roles=task.roles,
        asked="for vectors" if task.embeds else asked,
        refusals=refusals,
        price=_price(task.endpoint, task.model),
        practice=task.endpoint.is_practice,
        tried_at=row.tried_at,
        seconds=row.latency_s,
        fault=row.fault,
        input_tokens=call.input_tokens if call else None,
        output_tokens=call.output_tokens if call else None,
        usd=call.usd if call else None,
    )


def _price(endpoint: Endpoint, model: str) -> str:
    price = table().find(endpoint, model, on=datetime.now(UTC).date())
    if price is None:
        return "no price known"
    if price.is_free:
        return "free"
    return f"${price.input.normalize():f} in, ${price.output.normalize():f} out a million tokens"


def _answers(task: Task) -> bool:
    row = ModelProfile.objects.of(task.endpoint, task.model)
    return row.tried_at is not None and not row.fault


def _gateways(known: Iterable[Endpoint], executor: Executor | None = None) -> Gateways:
    return Gateways(
        known=known,
        concurrency=len(endpoints.ROLES),
        attempts=1,
        deadline_s=DEADLINE_S,
        executor=executor,
    )


async def _try(gateways: Gateways, task: Task) -> tuple[EndpointCheck, LLMError | None]:
    reply: Reply | None = None
    fault: LLMError | None = None
    role = task.roles[0] if task.roles else "model"
    try:
        reply = await gateways.complete(_request(task), f"{CHECK}:{role}")
    except LLMError as error:
        # Whoever is cut off has answered.
        fault = None if error.error_class is ErrorClass.CUT_OFF else error
    return await gateways.in_database(partial(_noted, task, reply, fault)), fault


def _noted(task: Task, reply: Reply | None, error: LLMError | None) -> EndpointCheck:
    """The outcome, stored with what is known of the model."""
    outcome = {
        "tried_at": timezone.now(),
        "latency_s": reply.elapsed_s if reply else None,
        "fault": without_secrets(error.message, task.endpoint) if error else "",
    }
    key = key_of(task.endpoint, task.model)
    ModelProfile.objects.update_or_create(**key, defaults=outcome)
    return standing(task, Call.objects.get(pk=reply.call_id) if reply else None)


def _request(task: Task) -> Request:
    # Its own time makes each trial another request: an old answer tells nothing of now.
    now = time.time_ns()
    if task.embeds:
        return embedding_request(
            endpoint=task.endpoint.name, model=task.model, texts=[f"Is it so? {now}"]
        )
    return Request(
        endpoint=task.endpoint.name,
        role=CHECK,
        model=task.model,
        messages=(
            {"role": "system", "content": "You are asked once, to see whether you answer."},
            {"role": "user", "content": 'Answer with the JSON object {"ok": true}.'},
        ),
        schema_name=CHECK,
        schema=_SCHEMA,
        max_tokens=_MOST_TOKENS,
        replicate=now,
    )
