"""A page on its way through SafeClean, FastClean and the Splitter (docs/protocol.md 4.2 to 4.5)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from corpus.chunking.pieces import cut_fixed
from corpus.chunking.rules import clean
from corpus.marcus.asking import Ask, read_reply, request, says_nothing
from corpus.marcus.carrying import Carried, Overlap, carry, overlaps
from corpus.marcus.cutting import JOIN, Cut, cuts_of, kept_texts, missing, rank, without_inventions
from corpus.marcus.findings import Notes, Place
from corpus.marcus.gold_check import check_gold
from corpus.marcus.labels import label, read_chunks
from corpus.marcus.parts import Page, Part
from corpus.marcus.settings import FAST_CLEAN, SAFE_CLEAN, SPLITTER, Settings
from corpus.marcus.tokens import tokenise
from corpus.marcus.verify import (
    LEAST_COVERAGE,
    LEAST_RECALL,
    MOST_NOVEL,
    Kind,
    Verdict,
    verify,
)
from corpus.marcus.windows import windows


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of the new version: its id, its text, and what it holds of the old passages."""

    pid: str
    text: str
    is_gold: bool
    holds: tuple[Carried, ...]
    tables: tuple[str, ...] = ()


@dataclass(slots=True)
class Result:
    """What became of a page; no chunks yet where a person has to decide something first."""

    chunks: list[Chunk] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    @property
    def is_held(self) -> bool:
        """Whether a person has to decide something first."""
        return bool(self.notes.held)


async def work_on(
    page_id: str,
    page: Page,
    settings: Settings,
    *,
    key: bytes,
    ask: Ask,
    decided: Mapping[Place, str] | None = None,
) -> Result:
    """Clean and split the parts of a page, gold and other apart. Raises what `ask` raises."""
    worker = _Worker(settings, key, ask, decided or {})
    cut = await asyncio.gather(*map(worker.part, page.parts, range(len(page.parts))))
    result = Result(notes=worker.notes)
    if worker.notes.held:
        return result
    segments = sum(part.is_gold for part in page.parts)
    for number, (part, done) in enumerate(zip(page.parts, cut, strict=True)):
        name = f"g{number + 1 if segments > 1 else ''}" if part.is_gold else "i"
        result.chunks += _chunks(f"{page_id}#{name}", part, done, worker.notes)
    worker.notes.findings.sort(key=lambda finding: finding.place)
    worker.notes.flags.sort()
    return result


def uncleaned(page_id: str, page: Page) -> list[Chunk]:
    """The page cleaned by rules alone, one chunk a part: where no agent would answer."""
    notes, made = Notes(), []
    segments = sum(part.is_gold for part in page.parts)
    for number, part in enumerate(page.parts):
        name = f"g{number + 1 if segments > 1 else ''}" if part.is_gold else "i"
        text = part.text if part.is_gold else clean(part.text)
        done = Cut([text] if text.strip() else [], {})
        made += _chunks(f"{page_id}#{name}", part, done, notes)
    return made


def _chunks(prefix: str, part: Part, done: Cut, notes: Notes) -> list[Chunk]:
    # What holds no word at all is put in again below, with its label.
    texts = list(done.texts) if any(map(tokenise, done.texts)) or not part.is_gold else []
    carried = carry(overlaps(part, texts))
    if part.is_gold:
        # A gold passage of which nothing is left goes along as it was loaded, also one of signs
        # alone or of nothing at all, of which no token could be aligned.
        there = {each.overlap.key for each in carried}
        for stretch in part.stretches:
            if stretch.key not in there:
                there.add(stretch.key)
                notes.flag("gold passage kept whole")
                whole = Overlap(stretch.key, len(texts), 0, 0)
                carried.append(Carried(whole, carries=True))
                texts.append(part.text[stretch.start : stretch.end])
    holds: dict[int, list[Carried]] = {}
    for each in carried:
        holds.setdefault(each.overlap.chunk, []).append(each)
    return [
        Chunk(
            pid=f"{prefix}{label(number)}",
            text=text,
            is_gold=part.is_gold,
            holds=tuple(holds.get(number, ())),
            tables=tuple(done.tables.get(number, ())),
        )
        for number, text in enumerate(texts)
    ]


class _Worker:
    def __init__(
        self, settings: Settings, key: bytes, ask: Ask, decided: Mapping[Place, str]
    ) -> None:
        self.settings, self.key, self.ask, self.decided = settings, key, ask, decided
        self.notes = Notes()

    async def part(self, part: Part, number: int) -> Cut:
        """One part: cleaned, then cut."""
        text: str | None = part.text
        if self.settings.cleans and part.text.strip():
            text = await (self._safe(part, number) if part.is_gold else self._fast(part, number))
        if text is None or not text.strip():
            return Cut([], {})
        if self.settings.splits:
            return await self._split(text, part, number)
        return Cut(cut_fixed(text, most=self.settings.fixed), {})

    async def _safe(self, part: Part, number: int) -> str | None:
        texts = []
        pieces = windows(part.text, self.settings.window)
        replies = await asyncio.gather(
            *(self._try(SAFE_CLEAN, each, f"p{number}w{n}") for n, each in enumerate(pieces))
        )
        for n, (source, (output, verdict)) in enumerate(zip(pieces, replies, strict=True)):
            checked = check_gold(
                source,
                output,
                verdict,
                where=(SAFE_CLEAN, number, n),
                policy=self.settings.policy,
                decided=self.decided,
                notes=self.notes,
                least=LEAST_RECALL,
            )
            texts.append(checked.texts)
        if any(each is None for each in texts):
            return None
        return "\n\n".join(text for each in texts for text in each or [] if text.strip())

    async def _fast(self, part: Part, number: int) -> str:
        assert not part.is_gold, "FastClean drops what it likes: never on gold"
        pieces = windows(part.text, self.settings.window)
        replies = await asyncio.gather(
            *(self._try(FAST_CLEAN, each, f"p{number}w{n}") for n, each in enumerate(pieces))
        )
        texts = []
        for source, (output, verdict) in zip(pieces, replies, strict=True):
            self.notes.count("fast_clean:dropped tokens", missing(verdict))
            if says_nothing(output):
                self.notes.flag("no content")
            elif verdict.novel > MOST_NOVEL:
                self.notes.flag("invented, cleaned by rules")
                texts.append(clean(source))
            else:
                texts += without_inventions(source, output, verdict)
        return "\n\n".join(text for text in texts if text.strip())

    async def _try(self, role: str, source: str, where: str) -> tuple[str, Verdict]:
        """A cleaner's output; asked once more where the first is poor, the better one is taken."""
        best: tuple[str, Verdict] | None = None
        for again in range(2):
            sent = request(role, source, self.settings, self.key, again=again)
            output = read_reply(await self.ask(sent, f"{role}:{where}:{again}"))
            if role == FAST_CLEAN and says_nothing(output):
                output = ""
            verdict = verify(source, output)
            if best is None or rank(verdict, role) > rank(best[1], role):
                best = output, verdict
            poor = verdict.is_poor() if role == SAFE_CLEAN else verdict.novel > MOST_NOVEL
            if not poor:
                break
            self.notes.count(f"{role}:asked again")
        assert best is not None
        return best

    async def _split(self, text: str, part: Part, number: int) -> Cut:
        pieces = windows(text, self.settings.window)
        found = await asyncio.gather(
            *(self._split_window(each, part, number, n) for n, each in enumerate(pieces))
        )
        texts: list[str] = []
        tables: dict[int, list[str]] = {}
        for n, cut in enumerate(found):
            joins = bool(n and texts and cut.texts) and await self._belong_together(
                texts[-1], cut.texts[0], f"p{number}j{n}"
            )
            shift = len(texts) - joins
            if joins:
                texts[-1] = f"{texts[-1]}\n\n{cut.texts[0]}"
            texts += cut.texts[joins:]
            for chunk, rows in cut.tables.items():
                tables.setdefault(chunk + shift, []).extend(rows)
        return Cut(texts, tables)

    async def _split_window(self, text: str, part: Part, number: int, window: int) -> Cut:
        best: tuple[list[str], Verdict] | None = None
        for again in range(2):
            sent = request(SPLITTER, text, self.settings, self.key, again=again)
            reply = read_reply(await self.ask(sent, f"{SPLITTER}:p{number}w{window}:{again}"))
            chunks = read_chunks(reply, source=text)
            for flag in chunks.flags:
                self.notes.count(f"splitter:{flag}")
            verdict = verify(text, JOIN.join(chunks.texts), with_tables=True)
            if best is None or rank(verdict, SPLITTER) > rank(best[1], SPLITTER):
                best = list(chunks.texts), verdict
            if not verdict.is_poor(least=LEAST_COVERAGE):
                break
            self.notes.count("splitter:asked again")
        assert best is not None
        texts, verdict = best
        joined, cuts = JOIN.join(texts), cuts_of(texts)
        if any(piece.kind == Kind.TABLE for piece in verdict.pieces):
            self.notes.flag("table in words")
        if part.is_gold:
            checked = check_gold(
                text,
                joined,
                verdict,
                where=(SPLITTER, number, window),
                policy=self.settings.policy,
                decided=self.decided,
                notes=self.notes,
                cuts=cuts,
                least=LEAST_COVERAGE,
            )
            return kept_texts(checked.texts or [], checked.tables)
        if not texts or verdict.is_poor(least=LEAST_COVERAGE):
            self.notes.flag("not split")
            return Cut([text.strip()], {})
        return kept_texts(without_inventions(text, joined, verdict, cuts), {})

    async def _belong_together(self, before: str, after: str, where: str) -> bool:
        """Whether the splitter leaves the end of one window and the start of the next whole."""
        text = f"{before}\n\n{after}"
        if len(windows(text, self.settings.window)) > 1:
            return False
        sent = request(SPLITTER, text, self.settings, self.key)
        chunks = read_chunks(read_reply(await self.ask(sent, f"{SPLITTER}:{where}:0")), source=text)
        return len(chunks.texts) == 1
