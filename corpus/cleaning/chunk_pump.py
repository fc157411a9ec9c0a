"""Driving DChunk: the rules, and semantic chunks of long texts by an endpoint's vectors.

An item of the drive is a whole group of passages, written in one transaction. Sentences are
asked for text by text: a text that did not change is answered from the ledger, whatever stands
beside it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from corpus.chunking.semantic import Span, chunks_of, units_of
from corpus.cleaning.digest import Tally
from corpus.cleaning.rules import Made, Row, cleaned, domain_names, read_rows, write
from corpus.models import CleaningRun
from corpus.versions.crosswalk import gold_of
from kit.runs import RunGroup
from kit.sharing import Share
from llm.embeddings import embedding_request, unpack
from llm.endpoints import Endpoint
from llm.errors import CannotGoOn, Failure, LLMError, read_failure
from llm.gateway import Gateways
from llm.pump import Pump

# Sentences of one request; and the longest, about the 8,192 tokens that most models read.
_BATCH: Final = 64
_LONGEST: Final = 24_000


@dataclass(frozen=True)
class GroupJob:
    """The passages of a group that this worker holds."""

    group: RunGroup
    rows: list[Row]

    @property
    def pk(self) -> int:
        """The group's key."""
        return self.group.pk


@dataclass(frozen=True)
class GroupOutcome:
    """What a group's passages became."""

    job: GroupJob
    made: list[Made]
    tally: Tally
    failure: Failure | None = None


class ChunkPump(Pump[GroupJob, GroupOutcome]):
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
        return [GroupJob(group, rows)] if rows else []

    async def work(self, item: GroupJob, gateways: Gateways) -> GroupOutcome:
        """Clean each passage, and cut the long ones."""
        tally, asking = Tally({}, self.names), _Asking(gateways, self)
        made: list[Made] = []
        try:
            for row in item.rows:
                new = cleaned(row, self.gold, tally)
                if new is not None:
                    made += [each async for each in self._pieces(new, asking)]
        except LLMError as error:
            failure = read_failure([error], endpoint=self.endpoint, model=self.run.model)
            return GroupOutcome(item, [], tally, failure)
        if asking.cut:
            tally.count("sentences shortened for their vector", asking.cut)
        return GroupOutcome(item, made, tally)

    def store(self, results: Sequence[GroupOutcome]) -> int:
        """Write whole groups. Raises CannotGoOn where the endpoint refused a text."""
        for each in results:
            if each.failure is not None:
                raise CannotGoOn(f"{each.failure.words} Resume the run to ask again.", pauses=True)
            write(self.run, each.job.rows, each.made, each.tally)
            each.job.group.hold(last_id=each.job.group.up_to, figures=each.tally.figures)
        return sum(len(each.job.rows) for each in results)

    def waiting(self) -> str:
        """Passages that no worker has written yet."""
        run = CleaningRun.objects.only("done", "total").get(pk=self.run.pk)
        return f"{run.total - run.done:,} passages"

    async def _pieces(self, new: Made, asking: "_Asking") -> AsyncIterator[Made]:
        config = self.run.config
        text = new.text or ""
        if len(text.split()) <= config["long_from"]:
            yield new
            return
        most = int(config["most"])
        units = units_of(text, most=most)
        vectors = await asking.vectors(text, units)
        chunks = chunks_of(
            text,
            units,
            vectors,
            threshold=config["threshold"],
            most=most,
            overlap=config["overlap"],
        )
        for number, each in enumerate(chunks, start=1):
            yield new._replace(pid=f"{new.pid}#c{number}", text=each.text)


class _Asking:
    """The calls of one group."""

    def __init__(self, gateways: Gateways, pump: ChunkPump) -> None:
        self._gateways, self._run = gateways, pump.run
        self._endpoint = pump.endpoint.name
        self.cut = 0

    async def vectors(self, text: str, units: Sequence[Span]) -> npt.NDArray[np.float32]:
        """The vectors of a text's sentences, some at a time and the batches at once."""
        said = [text[start:end] for start, end in units]
        self.cut += sum(len(each) > _LONGEST for each in said)
        parts = [said[at : at + _BATCH] for at in range(0, len(said), _BATCH)]
        return np.concatenate(await asyncio.gather(*map(self._ask, parts)))

    async def _ask(self, texts: list[str]) -> npt.NDArray[np.float32]:
        request = embedding_request(
            endpoint=self._endpoint,
            model=self._run.model,
            texts=[each[:_LONGEST] for each in texts],
        )
        reply = await self._gateways.complete(request, f"clean:{self._run.pk}:chunks")
        return unpack(reply.text)
