"""Driving DChunk: the rules, and semantic chunks of long texts by an endpoint's vectors.

An item of the drive is a whole group of texts, written in one transaction. Sentences are
asked for text by text: a text that did not change is answered from the ledger, whatever
other texts there are.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from corpus.cleaning.chunks import Chunker, Item, Vectors, requests_for
from corpus.cleaning.rules import Row, Tally, domain_names, write
from corpus.models import CleaningRun
from kit.errors import Pauses
from kit.runs.models import RunGroup
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.pump import Pump
from llm.wire import unpack


@dataclass
class GroupJob:
    """The texts of a group that this worker has claimed, and the new passages."""

    group: RunGroup
    items: Sequence[Item]
    tally: Tally
    made: list[Row] = field(default_factory=list)
    failure: LLMError | None = None


class ChunkPump(Pump[GroupJob, GroupJob]):
    """One worker's drive of its share of a DChunk run."""

    run: CleaningRun
    words = ("group of texts", "groups of texts")
    embeds = True

    def prepare(self) -> None:
        """How texts are cut."""
        self.chunker, self.names = Chunker(self.run), domain_names(self.run)

    def read_group(self, group: RunGroup) -> Sequence[GroupJob]:
        """The group with its texts, unless it was written already."""
        size = {"after": group.last_id, "up_to": group.up_to}
        items = self.chunker.read(**size, most=group.total)
        return [GroupJob(group, items, Tally({}, self.names))] if items else []

    async def work(self, item: GroupJob, gateways: Gateways) -> GroupJob:
        """Clean each text, and cut the long ones."""
        for each in item.items:
            item.made += await self._cut(each, item.tally, gateways)
        return item

    def store(self, results: Sequence[GroupJob]) -> int:
        """Write whole groups. Raises Pauses where the endpoint refused a text."""
        for each in results:
            if each.failure is not None:
                raise Pauses(f"{each.failure.words} Resume the run to ask again.")
            write(self.run, each.made, each.tally)
            each.group.hold(last_id=each.group.up_to, figures=each.tally.figures)
        return sum(len(each.items) for each in results)

    def waiting(self) -> str:
        """Texts that no worker has written yet."""
        run = CleaningRun.objects.only("done", "total").get(pk=self.run.pk)
        return f"{run.total - run.done:,} texts"

    async def _cut(self, item: Item, tally: Tally, gateways: Gateways) -> list[Row]:
        cutting = self.chunker.cut(item, tally)
        try:
            asked = next(cutting)
            while True:
                asked = cutting.send(await self._vectors(asked, gateways))
        except StopIteration as end:
            made: list[Row] = end.value
            return made

    async def _vectors(self, texts: list[str], gateways: Gateways) -> Vectors:
        subject = f"clean:{self.run.pk}:chunks"
        asked = requests_for(self.run, texts)
        replies = await asyncio.gather(*(gateways.complete(each, subject) for each in asked))
        return np.concatenate([unpack(reply.text) for reply in replies])
