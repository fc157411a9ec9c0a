"""Texts in pieces: what the agents' answers come to once they are checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corpus.marcus.mending import mend
from corpus.marcus.settings import FAST_CLEAN
from corpus.marcus.verify import Kind, Verdict

JOIN: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class Cut:
    """A part in pieces, each with the tables that it puts in words."""

    texts: list[str]
    tables: dict[int, list[str]]


def cuts_of(texts: Sequence[str]) -> list[int]:
    """Where the chunks but the first begin in the joined text."""
    cuts, at = [], 0
    for text in texts[:-1]:
        at += len(text) + len(JOIN)
        cuts.append(at)
    return cuts


def kept_texts(texts: Sequence[str], tables: Mapping[int, list[str]]) -> Cut:
    """Without chunks that came out empty, the tables with those that are left."""
    kept: list[str] = []
    moved: dict[int, list[str]] = {}
    for number, text in enumerate(texts):
        if number in tables:
            moved.setdefault(max(0, len(kept) - (not text.strip())), []).extend(tables[number])
        if text.strip():
            kept.append(text.strip())
    return Cut(kept, moved)


def without_inventions(
    source: str, output: str, verdict: Verdict, cuts: Sequence[int] = ()
) -> list[str]:
    """The output with what is not in the source put right, and what it leaves out left out."""
    left_out = {
        number
        for number, piece in enumerate(verdict.pieces)
        if piece.kind in (Kind.DROPPED, Kind.MOVED)
    }
    return mend(source, output, verdict, accepted=left_out, cuts=cuts)


def rank(verdict: Verdict, role: str) -> tuple[float, float]:
    """What a better output has more of: for FastClean leaving out is no fault."""
    return (
        (-verdict.novel, verdict.recall) if role == FAST_CLEAN else (verdict.recall, -verdict.novel)
    )


def missing(verdict: Verdict) -> int:
    """How many tokens fewer the output has than the source."""
    return max(0, verdict.source_tokens - verdict.output_tokens)
