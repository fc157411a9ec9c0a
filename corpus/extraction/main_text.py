"""Which blocks of a page are its main text, as trafilatura sees it."""

import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

from corpus.extraction.blocks import Block

# The alignment holds a bit for every pair of words; a page beyond that is matched line by line.
_MOST_PAIRS: Final = 2_000_000_000
_WORD: Final = re.compile(r"\w+")
# A block belongs to the main text when at least so much of it is found there, in order.
_SHARE: Final = 0.6
# Below this much of the main text found in the blocks, it came from elsewhere (a script's JSON).
_FOUND: Final = 0.8


def main_text(html: str, *, url: str | None = None) -> str:
    """The page's main text, one paragraph to a line, "" where there is none."""
    import trafilatura  # slow to import, and most processes read no page

    found = trafilatura.extract(html, url=url, include_comments=False, include_tables=True)
    return found or ""


def mark_main(blocks: Sequence[Block], main: str) -> list[bool] | None:
    """For each block whether it is main text; None if the main text is not made of the blocks.

    Words of both are aligned by their longest common subsequence, so that a menu that repeats a
    headline's word is not taken for it.
    """
    words = [_WORD.findall(block.text) for block in blocks]
    flat = [word for of_block in words for word in of_block]
    wanted = _WORD.findall(main)
    if not wanted:
        return [False] * len(blocks)
    if len(flat) * len(wanted) > _MOST_PAIRS:
        return _mark_lines(words, main)
    hit = bytearray(len(flat))
    for step in LCSseq.opcodes(flat, wanted):
        if step.tag == "equal":
            hit[step.src_start : step.src_end] = b"\x01" * (step.src_end - step.src_start)
    if sum(hit) < _FOUND * len(wanted):
        return None
    marks, at = [], 0
    for of_block in words:
        share = sum(hit[at : at + len(of_block)]) / len(of_block) if of_block else 0.0
        marks.append(share >= _SHARE)
        at += len(of_block)
    return marks


def _mark_lines(words: Sequence[list[str]], main: str) -> list[bool] | None:
    lines = [tuple(_WORD.findall(line)) for line in main.splitlines()]
    known = set(lines)
    marks = [bool(of_block) and tuple(of_block) in known for of_block in words]
    found = sum(len(of_block) for of_block, mark in zip(words, marks, strict=True) if mark)
    return marks if found >= _FOUND * sum(map(len, lines)) else None
