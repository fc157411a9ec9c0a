"""Trying whether a model answers: one tiny call, with the seconds, the price, or the exact refusal.

By hand (`manage.py check_endpoint`, the page of endpoints), and before a run's first call to a
model that nobody has tried: so a wrong key is reported before an item is touched. The call
teaches how the model is asked, is in the ledger, and is charged to nobody's budget.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from kit.errors import Refused
from llm import endpoints
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, WrongSetup, without_secrets
from llm.gateway import Gateways
from llm.models import Call, ModelProfile
from llm.practice.rules import CHECK
from llm.prices import table
from llm.requests import Reply, Request, object_schema
from llm.reranking import WIRES, rerank_request
from llm.wire import embedding_request

# A page waits for it, and gives up after thirty seconds.
DEADLINE_S: Final = 25.0
EMBEDDER: Final = "embedder"
# Room for what a reasoning model thinks about it.
_MOST_TOKENS: Final = 1_000


@dataclass(frozen=True)
class Trial:
    """A model at an endpoint, with the roles that it has there; no model is the endpoint's own.

    `call` is that of a trial just made.
    """

    endpoint: Endpoint
    model: str
    roles: tuple[str, ...]
    call: Call | None = None

    @cached_property
    def known(self) -> ModelProfile:
        """How it is asked, and what came of its last trial."""
        return ModelProfile.objects.of(self.endpoint, self.model)

    @property
    def embeds(self) -> bool:
        """Whether it is asked for vectors; no model both writes and embeds."""
        return self.roles == (EMBEDDER,)

    @property
    def asked(self) -> str:
        """How it is asked, in words."""
        if self.endpoint.api in WIRES:
            return "for scores of passages"
        return "for vectors" if self.embeds else self.known.told(self.endpoint)[0]

    @property
    def refusals(self) -> tuple[str, ...]:
        """What taught that, without address or key."""
        return self.known.told(self.endpoint)[1]

    @property
    def price(self) -> str:
        """What a million tokens cost."""
        price = table().find(self.endpoint, self.model, on=datetime.now(UTC).date())
        if price is None:
            return "no price known"
        read, wrote = (each.normalize() for each in (price.input, price.output))
        return "free" if price.is_free else f"${read:f} in, ${wrote:f} out a million tokens"


def trials(endpoint: Endpoint, role: str = "") -> list[Trial]:
    """Whom a trial of this endpoint asks: its own model and those of its roles, or of one role."""
    found: dict[tuple[str, bool], list[str]] = {} if role else {(endpoint.default_model, False): []}
    chosen = endpoints.roles()
    for each in [role] if role else [each for each in endpoints.ROLES if each in chosen]:
        placed = endpoints.for_role(each)
        if placed.name == endpoint.name:
            found.setdefault((placed.default_model, each == EMBEDDER), []).append(each)
        elif role:
            found[endpoint.default_model, each == EMBEDDER] = [each]
    return [Trial(endpoint, model, tuple(names)) for (model, _), names in found.items()]


def try_endpoint(endpoint: Endpoint, role: str = "") -> list[Trial]:
    """One tiny call to each of its models, at once, each new and paid for."""

    async def try_all() -> list[Trial]:
        async with _gateways([endpoint]) as gateways:
            made = (_try(gateways, trial) for trial in trials(endpoint, role))
            return [trial for trial, _ in await asyncio.gather(*made)]

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
    named = [Trial(find(name), model, roles) for name, model in dict.fromkeys(choices) if model]
    to_try = [each for each in named if not each.endpoint.is_practice]
    async with _gateways([each.endpoint for each in to_try], executor) as gateways:
        for each in to_try:
            of = partial(ModelProfile.objects.of, each.endpoint, each.model)
            known = await gateways.in_database(of)
            if known.tried_at is None or known.fault:
                _, error = await _try(gateways, each)
                if isinstance(error, WrongSetup):
                    raise Refused(error.words)


def _gateways(known: Iterable[Endpoint], executor: Executor | None = None) -> Gateways:
    size = len(endpoints.ROLES)
    return Gateways(
        known=known, concurrency=size, attempts=1, deadline_s=DEADLINE_S, executor=executor
    )


async def _try(gateways: Gateways, trial: Trial) -> tuple[Trial, LLMError | None]:
    reply: Reply | None = None
    fault: LLMError | None = None
    role = trial.roles[0] if trial.roles else "model"
    try:
        reply = await gateways.complete(_request(trial), f"{CHECK}:{role}")
    except LLMError as error:
        # Whoever is cut off has answered.
        fault = None if error.error_class is ErrorClass.CUT_OFF else error

    def note() -> Trial:
        ModelProfile.objects.note(
            trial.endpoint,
            trial.model,
            tried_at=timezone.now(),
            latency_s=reply.elapsed_s if reply else None,
            fault=without_secrets(fault.message, trial.endpoint) if fault else "",
        )
        call = Call.objects.get(pk=reply.call_id) if reply else None
        return replace(trial, call=call)

    return await gateways.in_database(note), fault


def _request(trial: Trial) -> Request:
    # Its own time makes each trial another request: an old answer tells nothing of now.
    now = time.time_ns()
    asked: dict[str, Any] = {"endpoint": trial.endpoint.name, "model": trial.model}
    if trial.endpoint.api in WIRES:
        documents = ["It is so.", f"Nobody knows it. {now}"]
        wire = trial.endpoint.api
        return rerank_request(**asked, wire=wire, query="Is it so?", documents=documents)
    if trial.embeds:
        return embedding_request(**asked, texts=[f"Is it so? {now}"])
    messages = (
        {"role": "system", "content": "You are asked once, to see whether you answer."},
        {"role": "user", "content": 'Answer with the JSON object {"ok": true}.'},
    )
    schema, most = object_schema(ok={"type": "boolean"}), _MOST_TOKENS
    return Request(
        **asked,
        role=CHECK,
        messages=messages,
        schema_name=CHECK,
        schema=schema,
        max_tokens=most,
        replicate=now,
    )
