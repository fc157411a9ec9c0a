"""All endpoints of one run behind one door: a gateway each, opened when first asked for."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any, Self

from llm import endpoints
from llm.endpoints import Endpoint
from llm.gateway import Gateway
from llm.prices import PriceTable, table
from llm.requests import Reply, Request


class Gateways:
    """Calls to any endpoint that is set up: `async with Gateways(...) as gateways`.

    All share the bound on calls in flight, the account and the thread for the database.
    `must_be_priced`: a model without a price is refused (UnknownPrice), because a limit could
    not be kept. `known` endpoints are used as given, others are looked up by name.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        owner: str,
        known: Iterable[Endpoint] = (),
        account_id: int | None = None,
        must_be_priced: bool = False,
        prices: PriceTable | None = None,
        executor: Executor | None = None,
        **options: Any,
    ) -> None:
        self._endpoints = {endpoint.name: endpoint for endpoint in known}
        self._prices = prices or table()
        self._must_be_priced = must_be_priced
        self._priced: set[tuple[str, str]] = set()
        self._options = options | {
            "concurrency": concurrency,
            "owner": owner,
            "account_id": account_id,
            "prices": self._prices,
            "slots": asyncio.Semaphore(concurrency),
            "executor": executor,
        }
        self._gateways: dict[str, Gateway] = {}
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._stack.__aexit__(*exc_info)

    async def complete(self, request: Request, subject: str) -> Reply:
        """The answer, as Gateway.complete gives it, from the endpoint that the request names.

        Raises UnknownEndpoint or UnknownPrice before anything is written or sent.
        """
        self._demand_price(request)
        gateway = self._gateways.get(request.endpoint) or await self._open(request.endpoint)
        return await gateway.complete(request, subject)

    def endpoint(self, name: str) -> Endpoint:
        """The endpoint of that name. Raises UnknownEndpoint."""
        if name not in self._endpoints:
            self._endpoints[name] = endpoints.get(name)
        return self._endpoints[name]

    async def wind_down(self, *, grace_s: float) -> None:
        """Send nothing more; wait so long for what is in flight (Gateway.wind_down)."""
        gateways = self._gateways.values()
        await asyncio.gather(*(gateway.wind_down(grace_s=grace_s) for gateway in gateways))

    async def _open(self, name: str) -> Gateway:
        async with self._opening:
            if name not in self._gateways:
                gateway = Gateway(self.endpoint(name), **self._options)
                self._gateways[name] = await self._stack.enter_async_context(gateway)
        return self._gateways[name]

    def _demand_price(self, request: Request) -> None:
        seat = (request.endpoint, request.model)
        if not self._must_be_priced or seat in self._priced:
            return
        day = datetime.now(UTC).date()
        self._prices.demand(self.endpoint(request.endpoint), request.model, on=day)
        self._priced.add(seat)
