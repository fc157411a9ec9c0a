"""Whether a cleaner's output says what its source says, word for word, and where it does not.

Both texts are aligned as tokens (corpus.marcus.tokens). Every stretch that differs is a piece with
its places in both. Some pieces are allowed: furniture of the page that was left out, broken
characters that were mended, ordinals of a list, and, for a splitter, tables that were put in
words. Whatever else was dropped, added, changed or moved is a violation, be it a single comma.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from corpus.marcus.alignment import Block, blocks
from corpus.marcus.furniture import Spans, furniture, tables
from corpus.marcus.garbled import is_repair
from corpus.marcus.moving import moved
from corpus.marcus.tokens import Token, tokenise

# docs/protocol.md 4.2 and 4.4: what decides a second try, and nothing else.
LEAST_RECALL: Final = 0.98
LEAST_COVERAGE: Final = 0.95
MOST_NOVEL: Final = 0.01


class Kind(StrEnum):
    """What became of a stretch of the source, or where one of the output comes from."""

    DROPPED = "dropped"
    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"
    BOILERPLATE = "boilerplate"
    REPAIRED = "repaired"
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

    `recall`: tokens of the source outside of furniture that the output has in order; `novel`:
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

    def is_poor(self, *, least: float = LEAST_RECALL) -> bool:
        """Whether asking once more is worth it."""
        return self.recall < least or self.novel > MOST_NOVEL


def verify(source: str, output: str, *, with_tables: bool = False) -> Verdict:
    """Compare a cleaner's output with its source; `with_tables` allows tables put in words."""
    return _Check(source, output, with_tables).verdict()


class _Check:
    def __init__(self, source: str, output: str, with_tables: bool) -> None:
        self.source, self.output = source, output
        self.first, self.second = tokenise(source), tokenise(output)
        self.furniture = furniture(source)
        self.tables = tables(source) if with_tables else Spans([])

    def verdict(self) -> Verdict:
        found = blocks(self.first, self.second)
        pieces: list[Piece] = []
        for block in found:
            if not block.same:
                pieces += self._pieces(block)
        pieces = _mark_moved(pieces, self)
        kept = sum(
            not self.furniture.holds(self.first[i].start)
            for block in found
            if block.same
            for i in range(block.a0, block.a1)
        )
        wanted = sum(not self.furniture.holds(token.start) for token in self.first)
        mended = [p for p in pieces if p.kind in (Kind.REPAIRED, Kind.TABLE)]
        kept += sum(self._count(self.first, p.start, p.end) for p in mended)
        novel = sum(
            self._count(self.second, p.out_start, p.out_end) for p in pieces if p.is_violation
        )
        return Verdict(
            pieces=tuple(pieces),
            recall=min(1.0, kept / wanted) if wanted else 1.0,
            novel=novel / len(self.second) if self.second else 0.0,
            source_tokens=len(self.first),
            output_tokens=len(self.second),
        )

    def _count(self, tokens: Sequence[Token], start: int, end: int) -> int:
        return len(_within(tokens, start, end))

    def _pieces(self, block: Block) -> list[Piece]:
        """A block that differs, furniture apart from text."""
        found: list[Piece] = []
        runs = self._runs(block.a0, block.a1)
        text_runs = [run for run in runs if not run[2]]
        out_start, out_end = self._out(block.b0, block.b1)
        for a0, a1, is_furniture in runs:
            if is_furniture:
                found.append(self._piece(Kind.BOILERPLATE, a0, a1, out_start, out_start))
        if not text_runs:
            if block.b1 > block.b0:
                found.append(self._added(block, out_start, out_end))
            return found
        # The output's words stand against the first stretch of text; the others are missing.
        a0, a1, _ = text_runs[0]
        kind = self._kind(a0, a1, out_start, out_end)
        found.append(self._piece(kind, a0, a1, out_start, out_end))
        for a0, a1, _ in text_runs[1:]:
            found.append(self._piece(self._kind(a0, a1, 0, 0), a0, a1, out_end, out_end))
        return sorted(found, key=lambda piece: (piece.start, piece.out_start))

    def _runs(self, a0: int, a1: int) -> list[tuple[int, int, bool]]:
        """Token ranges of the source that are furniture throughout, or text throughout."""
        runs: list[tuple[int, int, bool]] = []
        for i in range(a0, a1):
            inside = self.furniture.holds(self.first[i].start)
            if runs and runs[-1][2] == inside:
                runs[-1] = (runs[-1][0], i + 1, inside)
            else:
                runs.append((i, i + 1, inside))
        return runs

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
