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
from django.db import transaction

from corpus.chunking.semantic import Span, chunks_of, units_of
from corpus.models import CleaningGroup
from corpus.services.cleaning_digest import Tally
from corpus.services.cleaning_rules import Made, Row, cleaned, domain_names, read_rows, write
from corpus.services.cleaning_share import Share
from corpus.services.crosswalk import gold_of
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

    group: CleaningGroup
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


def drive(share: Share, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Chunk free groups until none is left or the time is up; raises what every pump does."""
    asyncio.run(ChunkPump(share, endpoint, seconds=seconds).run_to_end())


class ChunkPump(Pump[GroupJob, GroupOutcome]):
    """One worker's drive of its share of a DChunk run."""

    words = ("group of passages", "groups of passages")
    embeds = True

    def __init__(self, share: Share, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(share.run, endpoint, seconds=seconds, held=share)
        self.share, self.run, self.endpoint = share, share.run, endpoint
        self.gold = set(gold_of(self.run.source))
        self.names = domain_names(self.run)

    def read_page(self, after: int) -> Sequence[GroupJob]:
        """One more group, with its passages."""
        group = self.share.claim()
        if group is None:
            return []
        size = {"after": group.last_id, "up_to": group.up_to}
        return [GroupJob(group, read_rows(self.run, **size, most=group.total))]

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

    def store(self, results: Sequence[GroupOutcome]) -> None:
        """Write whole groups. Raises CannotGoOn where the endpoint refused a text."""
        for each in results:
            if each.failure is not None:
                raise CannotGoOn(f"{each.failure.words} Resume the run to ask again.", pauses=True)
            group, rows = each.job.group, each.job.rows
            with transaction.atomic():
                group.hold()
                write(self.run, rows, each.made, each.tally)
                group.finish(figures=each.tally.figures, done=len(rows))
                self.share.count(len(rows))
            self.share.end(group)

    def close(self) -> None:
        """Groups are done as they are written; what follows is the leader's."""

    def waiting(self) -> str:
        """Those without an outcome."""
        done = sum(self.run.groups.values_list("done", flat=True))
        return f"{max(0, self.run.total - done):,} passages"

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
