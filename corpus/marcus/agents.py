"""A page on its way through SafeClean, FastClean and the Splitter (docs/protocol.md 4.2 to 4.5)."""

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from corpus.chunking.rules import clean, without_source
from corpus.marcus.asking import Ask, read_reply, request, says_nothing
from corpus.marcus.checking import Decided, Notes, check_gold
from corpus.marcus.inheritance import Overlap, holdings
from corpus.marcus.parts import Page, Part
from corpus.marcus.regions import menu_spans
from corpus.marcus.settings import FAST_CLEAN, SAFE_CLEAN, SPLITTER, Settings
from corpus.marcus.splitting import (
    JOIN,
    Cut,
    Tables,
    cut_fixed,
    cuts_of,
    kept_texts,
    label,
    missing,
    rank,
    read_chunks,
    windows,
    without_inventions,
)
from corpus.marcus.verify import MAX_NOVEL, MIN_COVERAGE, MIN_RECALL, Kind, Verdict, verify


class Chunk(NamedTuple):
    """A passage of the new version: its id, its text, and what it holds of the old passages;
    `is_beside` is whether it holds text of the page that no passage covers, too."""

    pid: str
    text: str
    is_gold: bool
    holds: list[Overlap]
    tables: list[str]
    is_beside: bool = False


class Result(NamedTuple):
    """What became of a page; no chunks yet where a person has to decide something first."""

    chunks: list[Chunk]
    notes: Notes


async def work_on(
    page_id: str,
    page: Page,
    settings: Settings,
    *,
    key: bytes,
    ask: Ask,
    decided: Decided | None = None,
    protected: Collection[str] = (),
    recurring: Collection[str] = (),
) -> Result:
    """Clean and split the parts of a page, gold and other apart. Raises what `ask` raises.

    `protected` words and `recurring` lines are those of `menu_lines`, for gold.
    """
    worker = _Worker(settings, key, ask, decided or {}, protected, recurring)
    cuts = await asyncio.gather(*map(worker.part, page.parts, range(len(page.parts))))
    notes = worker.notes
    if notes.is_held:
        return Result([], notes)
    chunks = _chunks_of_page(page_id, page, cuts, notes)
    notes.findings = dict(sorted(notes.findings.items()))
    notes.flags.sort()
    return Result(chunks, notes)


def uncleaned(page_id: str, page: Page) -> list[Chunk]:
    """The page cleaned by rules alone, one chunk a part: where no agent would answer.

    Gold stays letter by letter, of a page's source all that can be seen.
    """
    texts = [
        without_source(part.text, is_gold=True) if part.is_gold else clean(part.text)
        for part in page.parts
    ]
    cuts = [Cut([text] if text.strip() else [], {}) for text in texts]
    return _chunks_of_page(page_id, page, cuts, Notes())


def _chunks_of_page(page_id: str, page: Page, cuts: Sequence[Cut], notes: Notes) -> list[Chunk]:
    segments = sum(part.is_gold for part in page.parts)
    chunks: list[Chunk] = []
    for number, (part, cut) in enumerate(zip(page.parts, cuts, strict=True)):
        name = f"g{number + 1 if segments > 1 else ''}" if part.is_gold else "i"
        chunks += _chunks(f"{page_id}#{name}", part, cut, notes)
    return chunks


def _chunks(prefix: str, part: Part, done: Cut, notes: Notes) -> list[Chunk]:
    texts, holds, kept_whole, beside = holdings(part, done.texts)
    if kept_whole:
        notes.flag("gold passage kept whole")
    return [
        Chunk(
            pid=f"{prefix}{label(number)}",
            text=text,
            is_gold=part.is_gold,
            holds=holds.get(number, []),
            tables=done.tables.get(number, []),
            is_beside=number in beside,
        )
        for number, text in enumerate(texts)
    ]


class _Worker:
    def __init__(
        self,
        settings: Settings,
        key: bytes,
        ask: Ask,
        decided: Decided,
        protected: Collection[str],
        recurring: Collection[str],
    ) -> None:
        self.settings, self.key, self.ask, self.decided = settings, key, ask, decided
        self.protected, self.recurring = protected, recurring
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
        texts: list[str] = []
        held = False
        pieces = windows(part.text, self.settings.window)
        ends = 0, len(pieces) - 1
        menus = [
            menu_spans(
                each,
                head=n == ends[0],
                tail=n == ends[1],
                protected=self.protected,
                recurring=self.recurring,
            )
            for n, each in enumerate(pieces)
        ]
        replies = await asyncio.gather(
            *(
                self._try(SAFE_CLEAN, each, f"p{number}w{n}", menus[n])
                for n, each in enumerate(pieces)
            )
        )
        for n, (source, (output, verdict)) in enumerate(zip(pieces, replies, strict=True)):
            checked = check_gold(
                source,
                output,
                verdict,
                where=(SAFE_CLEAN, number, n),
                policy=self.settings.policy,
                ask_from=self.settings.ask_from,
                decided=self.decided,
                notes=self.notes,
                menus=menus[n],
                least=MIN_RECALL,
            )
            held = held or checked is None
            texts += checked.texts if checked else []
        return None if held else JOIN.join(text for text in texts if text.strip())

    async def _fast(self, part: Part, number: int) -> str:
        """Of a page's source its main text is sent: an extractor finds it better than any agent,
        and every tag would be paid."""
        assert not part.is_gold, "FastClean drops what it likes: never on gold"
        pieces = windows(without_source(part.text), self.settings.window)
        replies = await asyncio.gather(
            *(self._try(FAST_CLEAN, each, f"p{number}w{n}") for n, each in enumerate(pieces))
        )
        texts = []
        for source, (output, verdict) in zip(pieces, replies, strict=True):
            self.notes.count("fast_clean:dropped tokens", missing(verdict))
            if says_nothing(output):
                self.notes.flag("no content")
            elif verdict.novel > MAX_NOVEL:
                self.notes.flag("invented, cleaned by rules")
                texts.append(clean(source))
            else:
                texts += without_inventions(source, output, verdict)
        return JOIN.join(text for text in texts if text.strip())

    async def _try(
        self, role: str, source: str, where: str, menus: Sequence[tuple[int, int]] = ()
    ) -> tuple[str, Verdict]:
        """A cleaner's output; asked once more where the first is poor, the better one is taken."""
        best: tuple[str, Verdict] | None = None
        for again in range(2):
            sent = request(role, source, self.settings, self.key, again=again)
            output = read_reply(await self.ask(sent, f"{role}:{where}:{again}"))
            if role == FAST_CLEAN and says_nothing(output):
                output = ""
            verdict = verify(source, output, menus=menus)
            if best is None or rank(verdict, role) > rank(best[1], role):
                best = output, verdict
            poor = verdict.is_poor() if role == SAFE_CLEAN else verdict.novel > MAX_NOVEL
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
        tables: Tables = {}
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
            chunks, flags = read_chunks(reply, source=text)
            for flag in flags:
                self.notes.count(f"splitter:{flag}")
            verdict = verify(text, JOIN.join(chunks), with_tables=True)
            if best is None or rank(verdict, SPLITTER) > rank(best[1], SPLITTER):
                best = chunks, verdict
            if not verdict.is_poor(least=MIN_COVERAGE):
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
                ask_from=self.settings.ask_from,
                decided=self.decided,
                notes=self.notes,
                cuts=cuts,
                least=MIN_COVERAGE,
            )
            return kept_texts(*checked) if checked else Cut([], {})
        if not texts or verdict.is_poor(least=MIN_COVERAGE):
            self.notes.flag("not split")
            return Cut([text.strip()], {})
        return kept_texts(without_inventions(text, joined, verdict, cuts), {})

    async def _belong_together(self, before: str, after: str, where: str) -> bool:
        """Whether the splitter leaves the end of one window and the start of the next whole."""
        text = f"{before}\n\n{after}"
        if len(windows(text, self.settings.window)) > 1:
            return False
        sent = request(SPLITTER, text, self.settings, self.key)
        reply = read_reply(await self.ask(sent, f"{SPLITTER}:{where}:0"))
        return len(read_chunks(reply, source=text)[0]) == 1
