"""Texts in pieces: windows that a model can take, the chunks of a splitter's reply, and what the
agents' answers come to once they are checked (docs/protocol.md 4.4).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from corpus.marcus.repairing import repair
from corpus.marcus.settings import FAST_CLEAN
from corpus.marcus.verify import Kind, Verdict
from llm.profiles import likely_tokens

JOIN: Final = "\n\n"
_SEPARATORS: Final = ("\n\n", "\n", ". ", " ")
_LABEL: Final = re.compile(
    r"^[^\S\n]*+[*#_ \t]*+chunk\s+([A-Z]{1,2})[*_ \t]*:[*_]*", re.MULTILINE | re.IGNORECASE
)
# By the number of a chunk, the tables that it puts in words.
Tables: TypeAlias = dict[int, list[str]]


class Cut(NamedTuple):
    """A part in pieces, each with the tables that it puts in words."""

    texts: list[str]
    tables: Tables


def windows(text: str, most: int) -> list[str]:
    """The text in pieces of about `most` tokens at most, cut at blank lines where it can be.

    A paragraph that is longer is cut at line ends, then at the ends of sentences, then between
    words. The pieces put together are the text, letter by letter.
    """
    if likely_tokens(text) <= most:
        return [text]
    found, current = [], ""
    for piece in _pieces(text, most, 0):
        if current and likely_tokens(current + piece) > most:
            found.append(current)
            current = ""
        current += piece
    return [*found, current] if current else found


def _pieces(text: str, most: int, level: int) -> list[str]:
    if likely_tokens(text) <= most:
        return [text]
    if level == len(_SEPARATORS):
        size = 4 * most
        return [text[at : at + size] for at in range(0, len(text), size)]
    separator = _SEPARATORS[level]
    rough = text.split(separator)
    whole = [each + separator for each in rough[:-1]] + ([rough[-1]] if rough[-1] else [])
    return [piece for each in whole for piece in _pieces(each, most, level + 1)]


def read_chunks(reply: str, *, source: str = "") -> tuple[list[str], list[str]]:
    """The chunks of a reply, labelled `Chunk A:`, `CHUNK B:`, `**Chunk C**:` and so on.

    Beside them what was odd: unlabelled, renumbered, preamble, empty.

    Without a label the whole reply is one chunk. Labels out of order or repeated count by their
    places. Text before the first label belongs to it if it stands in `source`, else it is
    dropped; so are empty chunks.
    """
    found = list(_LABEL.finditer(reply))
    if not found:
        whole = reply.strip()
        return ([whole], ["unlabelled"]) if whole else ([], ["empty"])
    flags = []
    names = [match[1].upper() for match in found]
    if names != [label(n) for n in range(len(names))]:
        flags.append("renumbered")
    ends = [match.start() for match in found[1:]] + [len(reply)]
    texts = [reply[m.end() : end].strip() for m, end in zip(found, ends, strict=True)]
    preamble = reply[: found[0].start()].strip()
    if preamble:
        flags.append("preamble")
        if " ".join(preamble.split()) in " ".join(source.split()):
            texts[0] = f"{preamble}\n{texts[0]}"
    kept = [text for text in texts if text]
    if len(kept) < len(texts):
        flags.append("empty")
    return kept, flags


def label(number: int) -> str:
    """The label of the chunk at that place from 0: A to Z, AA, AB and so on."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def cut_fixed(text: str, *, most: int) -> list[str]:
    """Pieces of at most `most` words, cut at line ends (MARCUS-C, docs/protocol.md 4.6).

    A longer line is cut between words. Where the paper truncates, nothing is dropped here.
    """
    pieces: list[str] = []
    current: list[str] = []
    size = 0
    for line in text.split("\n"):
        words = len(line.split())
        if current and size + words > most:
            pieces.append("\n".join(current))
            current, size = [], 0
        if words > most:
            parts = line.split()
            pieces += [" ".join(parts[at : at + most]) for at in range(0, words, most)]
            continue
        current.append(line)
        size += words
    if current:
        pieces.append("\n".join(current))
    return [piece.strip() for piece in pieces if piece.strip()]


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
    moved: Tables = {}
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
    return repair(source, output, verdict, accepted=left_out, cuts=cuts)


def rank(verdict: Verdict, role: str) -> tuple[float, float]:
    """What a better output has more of: for FastClean leaving out is no fault."""
    return (
        (-verdict.novel, verdict.recall) if role == FAST_CLEAN else (verdict.recall, -verdict.novel)
    )


def missing(verdict: Verdict) -> int:
    """How many tokens fewer the output has than the source."""
    return max(0, verdict.source_tokens - verdict.output_tokens)
