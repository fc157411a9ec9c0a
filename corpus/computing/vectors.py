"""Vectors of many texts from an endpoint, group by group, through ledger, budget and limits."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
from django.conf import settings

from llm.embeddings import embedding_request, unpack
from llm.endpoints import Endpoint
from llm.gateway import Gateways
from llm.trying import demand_answers

# Texts of one request, and requests that are under way before their vectors are written.
BATCH: Final = 64
_GROUP: Final = 16
# About the 8,192 tokens that most models read; what is longer is cut and counted.
LONGEST: Final = 24_000


@dataclass
class Asking:
    """Whom is asked, who pays; `cut` counts texts that were too long.

    Between two groups it looks for calls that a dead worker left behind.
    """

    endpoint: Endpoint
    model: str
    subject: str
    account_id: int | None = None
    must_be_priced: bool = False
    dimensions: int | None = None
    cut: int = 0
    _is_tried: bool = False

    def vectors(
        self, texts: Iterable[str], *, prefix: str = ""
    ) -> Iterator[npt.NDArray[np.float32]]:
        """The texts' vectors in their order; raises LLMError and what Gateways raises."""
        rest = iter(texts)
        while group := list(islice(rest, BATCH * _GROUP)):
            batches = [
                [self._fitting(prefix + text) for text in group[start : start + BATCH]]
                for start in range(0, len(group), BATCH)
            ]
            yield from asyncio.run(self._ask(batches))

    def _fitting(self, text: str) -> str:
        self.cut += len(text) > LONGEST
        return text[:LONGEST]

    async def _ask(self, batches: list[list[str]]) -> list[npt.NDArray[np.float32]]:
        requests = [
            embedding_request(
                endpoint=self.endpoint.name,
                model=self.model,
                texts=batch,
                dimensions=self.dimensions,
            )
            for batch in batches
        ]
        async with Gateways(
            concurrency=settings.ASSAY_CALLS_IN_FLIGHT,
            known=[self.endpoint],
            account_id=self.account_id,
            must_be_priced=self.must_be_priced,
        ) as gateways:
            if not self._is_tried:
                seats = [(self.endpoint.name, self.model)]
                await demand_answers(seats, find=gateways.endpoint, embeds=True)
                self._is_tried = True
            calls = [gateways.complete(each, self.subject) for each in requests]
            replies = await asyncio.gather(*calls)
        return [unpack(reply.text) for reply in replies]
