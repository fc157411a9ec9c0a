"""Texts as they are shown: runs of words, each with what it is, and a page's outline."""

from collections.abc import Iterator
from typing import Any

from annotate.voting.snapshot import Run
from corpus.extraction import Kind
from corpus.marcus.alignment import blocks
from corpus.marcus.tokens import Token
from corpus.models import CollectedPage, Passage

_HEADINGS = 300


def shown(page: CollectedPage) -> Iterator[Run]:
    """The whole text in runs; put together they are the document's text, to the last blank."""
    text, at = page.document.text, 0
    for start, end, kind, _, is_main in page.spans:
        if at < start:
            yield Run(text[at:start], "" if is_main else "left-out")
        css = f"block-{kind}" if is_main else f"block-{kind} left-out"
        yield Run(text[start:end], css, f"block-{start}" if kind == Kind.HEADING else "")
        at = end
    if at < len(text):
        yield Run(text[at:])


def outline(page: CollectedPage) -> list[dict[str, Any]]:
    """The page's headings, what was left out included."""
    return [
        {"start": start, "level": level, "is_main": is_main, "text": page.document.text[start:end]}
        for start, end, kind, level, is_main in page.spans
        if kind == Kind.HEADING
    ][:_HEADINGS]


def edited(page: CollectedPage, passage: Passage) -> Iterator[Run]:
    """How a refined text differs from the slice it was cut as; nothing for a verbatim one."""
    changes = (passage.extra or {}).get("edits", ())
    piece, at = page.document.text[passage.start : passage.end], 0
    for place, gone, new in changes:
        yield Run(piece[at:place])
        if gone:
            yield Run(piece[place : place + gone], "del")
        if new:
            yield Run(new, "ins")
        at = place + gone
    if changes:
        yield Run(piece[at:])


def difference(old: str, new: str) -> list[Run]:
    """Both texts in one, word by word: what is gone and what is new marked."""
    before, after = old.split(), new.split()
    found = []
    words = ([Token(word, 0, 0) for word in each] for each in (before, after))
    for block in blocks(*words):
        old_words, new_words = before[block.a0 : block.a1], after[block.b0 : block.b1]
        if block.same:
            found.append(Run(" ".join(old_words)))
            continue
        found += [Run(" ".join(old_words), "del")] if old_words else []
        found += [Run(" ".join(new_words), "ins")] if new_words else []
    return found
