"""Whether a cleaner's output says what its source says, word for word, and where it does not.

Both texts are aligned as tokens (corpus.marcus.tokens). Every stretch that differs is a piece with
its places in both. Some pieces are allowed: boilerplate and menus of the page that were left
out, broken characters that were repaired, ordinals of a list, and, for a splitter, tables that were
put in words. Whatever else was dropped, added, changed or moved is a violation, be it a single
comma.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from corpus.marcus.alignment import Block, blocks
from corpus.marcus.regions import Spans, boilerplate_spans, tables
from corpus.marcus.tokens import Token, tokenise

# docs/protocol.md 4.2 and 4.4: what decides a second try, and nothing else.
MIN_RECALL: Final = 0.98
MIN_COVERAGE: Final = 0.95
MAX_NOVEL: Final = 0.01
# U+FFFD, control characters of the C1 range, UTF-8 read as Latin-1, a question mark in a word.
_BROKEN: Final = re.compile(
    r"(?:[\ufffd\u0080-\u009f]|â€[™œž˜¦“”\u009d\u0080-\u00bf]?|[ÃÂ][\u0080-\u00bf‚„…†‡ˆ‰Š‹ŒŽ•–—˜™š›œžŸ]|"
    r"(?<=[^\W\d_])\?(?=[^\W\d_]))+"
)
_MAX_PER_RUN: Final = 3
# Places that the text before may reach: words have a few, and more say nothing any more.
_MAX_PLACES: Final = 32
_BLANKS: Final = re.compile(r"\s+")
# Shorter runs of tokens stand in many places without having been moved there.
_MIN_MOVED: Final = 3


class Kind(StrEnum):
    """What became of a stretch of the source, or where one of the output comes from."""

    DROPPED = "dropped"
    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"
    BOILERPLATE = "boilerplate"
    REPAIRED = "repaired"
    MENU = "menu"
    LAYOUT = "layout"
    TABLE = "table"


VIOLATIONS: Final = frozenset({Kind.DROPPED, Kind.ADDED, Kind.CHANGED, Kind.MOVED})


@dataclass(frozen=True, slots=True)
class Piece:
    """Source[start:end] against output[out_start:out_end]; one of them may be empty."""

    kind: Kind
    start: int
    end: int
    out_start: int
    out_end: int

    @property
    def is_violation(self) -> bool:
        """Whether it is more than a cleaner may do."""
        return self.kind in VIOLATIONS


@dataclass(frozen=True, slots=True)
class Verdict:
    """All pieces in order, and the shares that docs/protocol.md 4.2 asks for.

    `recall`: tokens of the source outside of boilerplate that the output has in order; `novel`:
    tokens of the output that the source has not, of all of the output's.
    """

    pieces: tuple[Piece, ...]
    recall: float
    novel: float
    source_tokens: int
    output_tokens: int

    @property
    def violations(self) -> list[Piece]:
        """Pieces that a policy has to do something about."""
        return [piece for piece in self.pieces if piece.is_violation]

    def is_poor(self, *, least: float = MIN_RECALL) -> bool:
        """Whether asking once more is worth it."""
        return self.recall < least or self.novel > MAX_NOVEL


def verify(
    source: str,
    output: str,
    *,
    with_tables: bool = False,
    menus: Sequence[tuple[int, int]] = (),
) -> Verdict:
    """Compare a cleaner's output with its source.

    `with_tables` allows tables put in words; `menus` are stretches that may be left out, and are
    listed then (`regions.menu_spans`).
    """
    return _Check(source, output, with_tables, menus).verdict()


class _Check:
    def __init__(
        self, source: str, output: str, with_tables: bool, menus: Sequence[tuple[int, int]]
    ) -> None:
        self.source, self.output = source, output
        self.first, self.second = tokenise(source), tokenise(output)
        self.boilerplate, self.menus = boilerplate_spans(source), Spans(list(menus))
        self.tables = tables(source) if with_tables else Spans([])

    def verdict(self) -> Verdict:
        found = self._blocks()
        pieces: list[Piece] = []
        for block in found:
            if not block.same:
                pieces += self._pieces(block)
        pieces = _mark_moved(pieces, self)
        kept = sum(
            self._may_go(self.first[i]) is None
            for block in found
            if block.same
            for i in range(block.a0, block.a1)
        )
        requested = sum(self._may_go(token) is None for token in self.first)
        repaired = [p for p in pieces if p.kind in (Kind.REPAIRED, Kind.TABLE)]
        kept += sum(self._count(self.first, p.start, p.end) for p in repaired)
        novel = sum(
            self._count(self.second, p.out_start, p.out_end) for p in pieces if p.is_violation
        )
        return Verdict(
            pieces=tuple(pieces),
            recall=min(1.0, kept / requested) if requested else 1.0,
            novel=novel / len(self.second) if self.second else 0.0,
            source_tokens=len(self.first),
            output_tokens=len(self.second),
        )

    def _blocks(self) -> list[Block]:
        """The alignment; nothing is aligned where the output is the source without boilerplate.

        Of a word that stands in a menu and in the text, an alignment may take the wrong one.
        """
        runs = self._runs(0, len(self.first))
        text = [token.form for a0, a1, kind in runs if not kind for token in self.first[a0:a1]]
        if text != [token.form for token in self.second]:
            return self._at_lines(blocks(self.first, self.second))
        found, at = [], 0
        for a0, a1, kind in runs:
            end = at if kind else at + a1 - a0
            found.append(Block(not kind, a0, a1, at, end))
            at = end
        return found

    def _at_lines(self, found: list[Block]) -> list[Block]:
        """The same alignment; what was left out begins at a line where it can.

        Of words that stand before a gap and at its end, an alignment may take either.
        """
        for n in range(1, len(found) - 1):
            before, gap, behind = found[n - 1 : n + 2]
            if gap.same or gap.b0 < gap.b1 or not (before.same and behind.same):
                continue
            shift = self._to_line(gap, before.a1 - before.a0, behind.a1 - behind.a0)
            if shift:
                found[n - 1] = replace(before, a1=before.a1 + shift, b1=before.b1 + shift)
                start, end, at = gap.a0 + shift, gap.a1 + shift, gap.b0 + shift
                found[n] = Block(False, start, end, at, at)
                found[n + 1] = replace(behind, a0=behind.a0 + shift, b0=behind.b0 + shift)
        return found

    def _to_line(self, gap: Block, before: int, behind: int) -> int:
        """By how many tokens the gap moves, fewer than stand on that side; 0 is not at all."""
        if self._starts_line(gap.a0):
            return 0
        for way, most in ((1, behind), (-1, before)):
            for steps in range(1, most):
                # The token that the gap's beginning passes, and the one that its end does.
                at = steps - 1 if way > 0 else -steps
                if self.first[gap.a0 + at].form != self.first[gap.a1 + at].form:
                    break
                if self._starts_line(gap.a0 + way * steps):
                    return way * steps
        return 0

    def _starts_line(self, number: int) -> bool:
        between = self.source[self.first[number - 1].end : self.first[number].start]
        return "\n" in between or "<" in between

    def _count(self, tokens: Sequence[Token], start: int, end: int) -> int:
        return len(_within(tokens, start, end))

    def _pieces(self, block: Block) -> list[Piece]:
        """A block that differs, boilerplate apart from text."""
        found: list[Piece] = []
        runs = self._runs(block.a0, block.a1)
        text_runs = [run for run in runs if not run[2]]
        out_start, out_end = self._out(block.b0, block.b1)
        for a0, a1, kind in runs:
            if kind:
                found.append(self._piece(kind, a0, a1, out_start, out_start))
        if not text_runs:
            if block.b1 > block.b0:
                found.append(self._added(block, out_start, out_end))
            return found
        # The output's words stand against the first stretch of text; the others are missing.
        a0, a1, _ = text_runs[0]
        first = self._kind(a0, a1, out_start, out_end)
        found.append(self._piece(first, a0, a1, out_start, out_end))
        for a0, a1, _ in text_runs[1:]:
            found.append(self._piece(self._kind(a0, a1, 0, 0), a0, a1, out_end, out_end))
        return sorted(found, key=lambda piece: (piece.start, piece.out_start))

    def _runs(self, a0: int, a1: int) -> list[tuple[int, int, Kind | None]]:
        """Token ranges of the source that may go throughout, as what, or are text throughout."""
        runs: list[tuple[int, int, Kind | None]] = []
        for i in range(a0, a1):
            kind = self._may_go(self.first[i])
            if runs and runs[-1][2] == kind:
                runs[-1] = (runs[-1][0], i + 1, kind)
            else:
                runs.append((i, i + 1, kind))
        return runs

    def _may_go(self, token: Token) -> Kind | None:
        if self.boilerplate.holds(token.start):
            return Kind.BOILERPLATE
        return Kind.MENU if self.menus.holds(token.start) else None

    def _kind(self, a0: int, a1: int, out_start: int, out_end: int) -> Kind:
        start, end = self.first[a0].start, self.first[a1 - 1].end
        if any(self.tables.holds(self.first[i].start) for i in range(a0, a1)):
            return Kind.TABLE
        if out_start == out_end:
            return Kind.DROPPED
        output = self.output[out_start:out_end]
        return Kind.REPAIRED if is_repair(self.source, start, end, output) else Kind.CHANGED

    def _added(self, block: Block, out_start: int, out_end: int) -> Piece:
        at = self.first[block.a0].start if block.a0 < len(self.first) else len(self.source)
        before = self.first[block.a0 - 1] if block.a0 else None
        kind = Kind.ADDED
        if _is_ordinal(self.output, out_start, out_end):
            kind = Kind.LAYOUT
        elif before and self.tables.holds(before.start):
            kind, at = Kind.TABLE, before.end
        elif self.tables.holds(at):
            kind = Kind.TABLE
        start = before.end if before else 0
        return Piece(kind, start, start, out_start, out_end)

    def _piece(self, kind: Kind, a0: int, a1: int, out_start: int, out_end: int) -> Piece:
        start, end = self.first[a0].start, self.first[a1 - 1].end
        return Piece(kind, start, end, out_start, out_end)

    def _out(self, b0: int, b1: int) -> tuple[int, int]:
        if b0 < b1:
            return self.second[b0].start, self.second[b1 - 1].end
        at = self.second[b0 - 1].end if b0 else 0
        return at, at


def _is_ordinal(output: str, start: int, end: int) -> bool:
    """Whether it is nothing but the number that Markdown writes before an item of a list."""
    piece = output[start:end]
    number = piece.rstrip(".)")
    if not (number.isascii() and number.isdigit()) or piece == number:
        return False
    while start and output[start - 1].isspace() and output[start - 1] != "\n":
        start -= 1
    return not start or output[start - 1] == "\n"


def _mark_moved(pieces: Sequence[Piece], check: _Check) -> list[Piece]:
    """What was left out in one place and put in at another was moved."""
    gone = [i for i, piece in enumerate(pieces) if piece.kind == Kind.DROPPED]
    new = [i for i, piece in enumerate(pieces) if piece.kind == Kind.ADDED]
    left, right = moved(
        [_forms(check.first, pieces[i].start, pieces[i].end) for i in gone],
        [_forms(check.second, pieces[i].out_start, pieces[i].out_end) for i in new],
    )
    marked = list(pieces)
    for i in [*(gone[place] for place in left), *(new[place] for place in right)]:
        marked[i] = replace(marked[i], kind=Kind.MOVED)
    return marked


def _forms(tokens: Sequence[Token], start: int, end: int) -> list[str]:
    return [token.form for token in _within(tokens, start, end)]


def _within(tokens: Sequence[Token], start: int, end: int) -> Sequence[Token]:
    """The tokens that begin in [start, end) of their text."""
    low = bisect_left(tokens, start, key=_start)
    return tokens[low : bisect_left(tokens, end, lo=low, key=_start)]


def _start(token: Token) -> int:
    return token.start


# Characters that came broken


def is_repair(source: str, start: int, end: int, output: str) -> bool:
    """Whether `output` is source[start:end] with nothing but its broken characters replaced.

    A broken stretch may become up to three characters, or none; the rest must be there letter by
    letter.
    """
    piece = source[start:end]
    broken = list(_BROKEN.finditer(source, max(0, start - 1), min(len(source), end + 1)))
    inside = [m for m in broken if m.start() >= start and m.end() <= end]
    if not inside or _BROKEN.search(output):
        return False
    if _as_utf8(piece) == output:
        return True
    parts, at = [], start
    for match in inside:
        parts.append(_BLANKS.sub(" ", source[at : match.start()]))
        at = match.end()
    return _fits([*parts, _BLANKS.sub(" ", source[at:end])], output)


def _fits(parts: Sequence[str], given: str) -> bool:
    """Whether the output is these parts with a few signs, or none, between each two of them.

    All places that each part may end at are kept side by side: a pattern would try them one by one
    for every place of the part before.
    """
    # More than one blank as a line break: what stood alone between two may have left both.
    marked = _BLANKS.sub(lambda run: " " if len(run[0]) == 1 else "\n", given)
    output = marked.replace("\n", " ")
    places = {len(parts[0])} if output.startswith(parts[0]) else set()
    for before, part in pairwise(parts):
        reached = {
            place + more
            for place in places
            for more in range(_MAX_PER_RUN + 1)
            if " " not in output[place : place + more]
        }
        if part.startswith(" ") and before.strip():
            reached |= {place - 1 for place in places if marked[place - 1 : place] == "\n"}
        places = {place + len(part) for place in reached if output.startswith(part, place)}
        if len(places) > _MAX_PLACES:
            return False
    return len(output) in places


def _as_utf8(text: str) -> str:
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return ""


# What was left out in one place and put in elsewhere


def moved(gone: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> tuple[set[int], set[int]]:
    """The places of those of either that stand in one of the other, or hold one of it.

    By a suffix array of them all: to hold each against each takes minutes where there are
    thousands of both.
    """
    long = [
        (is_new, place, run)
        for is_new, runs in enumerate((gone, new))
        for place, run in enumerate(runs)
        if len(run) >= _MIN_MOVED
    ]
    numbers: dict[str, int] = {}
    codes: list[int] = []
    starts: list[int] = []
    for place, (_, _, run) in enumerate(long):
        starts.append(len(codes))
        codes += [numbers.setdefault(form, len(numbers)) for form in run]
        codes.append(-1 - place)  # an end like no other: nothing is found across two runs
    if not codes:
        return set(), set()
    order = _suffixes(codes, max(len(run) for _, _, run in long))
    owner = np.repeat(np.arange(len(long)), np.diff([*starts, len(codes)]))[order]
    sides = np.array([is_new for is_new, _, _ in long])[owner]
    before = np.concatenate([[0], np.cumsum(sides)])
    held = np.zeros((2, len(codes) + 1), dtype=np.int64)
    found = np.zeros(len(long), dtype=bool)
    for place, (is_new, _, run) in enumerate(long):
        requested = codes[starts[place] : starts[place] + len(run)]

        def beginning(at: int, size: int = len(run)) -> list[int]:
            return codes[at : at + size]

        low = bisect_left(order, requested, key=beginning)
        high = bisect_right(order, requested, lo=low, key=beginning)
        count = int(before[high] - before[low])
        found[place] = (high - low > count) if is_new else count > 0
        held[is_new, low] += 1
        held[is_new, high] -= 1
    # A place is held by the other side where one of its runs begins there.
    covered = np.cumsum(held, axis=1)[1 - sides, np.arange(len(codes))] > 0
    found[owner[covered]] = True
    hits = [each[:2] for each, is_found in zip(long, found, strict=True) if is_found]
    return {p for is_new, p in hits if not is_new}, {p for is_new, p in hits if is_new}


def _suffixes(codes: Sequence[int], longest: int) -> npt.NDArray[np.int64]:
    """Where suffixes begin, in their order by their first `longest` codes."""
    rank = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    width = 1
    while width < longest:
        behind = np.full(len(rank), -1)
        behind[:-width] = rank[width:]
        rank = np.unique(rank * (len(rank) + 1) + behind + 1, return_inverse=True)[1]
        width *= 2
    return np.argsort(rank, kind="stable")
