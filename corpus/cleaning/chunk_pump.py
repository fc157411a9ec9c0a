"""Driving DChunk: the rules, and semantic chunks of long texts by an endpoint's vectors.

An item of the drive is a whole group of passages, written in one transaction. Sentences are
asked for text by text: a text that did not change is answered from the ledger, whatever stands
beside it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from corpus.chunking.semantic import chunks_of, units_of
from corpus.cleaning.digest import Tally
from corpus.cleaning.rules import Made, Row, cleaned, domain_names, read_rows, write
from corpus.models import CleaningRun
from corpus.versions.crosswalk import gold_of
from kit.runs.models import RunGroup
from kit.runs.sharing import Share
from llm.embeddings import embedding_request, unpack
from llm.endpoints import Endpoint
from llm.errors import CannotGoOn, LLMError
from llm.gateway import Gateways
from llm.pump import Pump

# Sentences of one request; and the longest, about the 8,192 tokens that most models read.
_BATCH: Final = 64
_LONGEST: Final = 24_000


@dataclass
class GroupJob:
    """The passages of a group that this worker holds, and what they became."""

    group: RunGroup
    rows: list[Row]
    tally: Tally
    made: list[Made] = field(default_factory=list)
    failure: LLMError | None = None

    @property
    def pk(self) -> int:
        """The group's key."""
        return self.group.pk


class ChunkPump(Pump[GroupJob, GroupJob]):
    """One worker's drive of its share of a DChunk run."""

    words = ("group of passages", "groups of passages")
    embeds = True

    def __init__(
        self, share: Share[CleaningRun], endpoint: Endpoint, *, seconds: float | None
    ) -> None:
        super().__init__(share, endpoint, seconds=seconds)
        self.run, self.endpoint = share.run, endpoint
        self.gold = set(gold_of(share.run.source))
        self.names = domain_names(share.run)

    def read_group(self, group: RunGroup) -> Sequence[GroupJob]:
        """The group with its passages, unless it was written already."""
        size = {"after": group.last_id, "up_to": group.up_to}
        rows = read_rows(self.run, **size, most=group.total)
        return [GroupJob(group, rows, Tally({}, self.names))] if rows else []

    async def work(self, item: GroupJob, gateways: Gateways) -> GroupJob:
        """Clean each passage, and cut the long ones."""
        try:
            for row in item.rows:
                new = cleaned(row, self.gold, item.tally)
                if new is not None:
                    item.made += [each async for each in self._pieces(new, item.tally, gateways)]
        except LLMError as error:
            item.failure = error
        return item

    def store(self, results: Sequence[GroupJob]) -> int:
        """Write whole groups. Raises CannotGoOn where the endpoint refused a text."""
        for each in results:
            if each.failure is not None:
                raise CannotGoOn(f"{each.failure.words} Resume the run to ask again.", pauses=True)
            write(self.run, each.made, each.tally)
            each.group.hold(last_id=each.group.up_to, figures=each.tally.figures)
        return sum(len(each.rows) for each in results)

    def waiting(self) -> str:
        """Passages that no worker has written yet."""
        run = CleaningRun.objects.only("done", "total").get(pk=self.run.pk)
        return f"{run.total - run.done:,} passages"

    async def _pieces(self, new: Made, tally: Tally, gateways: Gateways) -> AsyncIterator[Made]:
        config = self.run.config
        text = new.text or ""
        if len(text.split()) <= config["long_from"]:
            yield new
            return
        most = int(config["most"])
        units = units_of(text, most=most)
        said = [text[start:end] for start, end in units]
        if shortened := sum(len(each) > _LONGEST for each in said):
            tally.count("sentences shortened for their vector", shortened)
        parts = [said[at : at + _BATCH] for at in range(0, len(said), _BATCH)]
        vectors = await asyncio.gather(*(self._ask(each, gateways) for each in parts))
        chunks = chunks_of(
            text,
            units,
            np.concatenate(vectors),
            threshold=config["threshold"],
            most=most,
            overlap=config["overlap"],
        )
        for number, each in enumerate(chunks, start=1):
            yield new._replace(pid=f"{new.pid}#c{number}", text=each.text)

    async def _ask(self, texts: list[str], gateways: Gateways) -> npt.NDArray[np.float32]:
        request = embedding_request(
            endpoint=self.endpoint.name,
            model=self.run.model,
            texts=[each[:_LONGEST] for each in texts],
        )
        reply = await gateways.complete(request, f"clean:{self.run.pk}:chunks")
        return unpack(reply.text)
