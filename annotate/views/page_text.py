"""A page's text as it is shown: in runs, with its outline and what was edited in a piece."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from corpus.extraction import Kind
from corpus.models import CollectedPage, Passage, Query

_SHOWN = 50
_HEADINGS = 300


@dataclass(frozen=True)
class Piece:
    """A run of a page's text as it is shown; `css` says what it is, "" for the gaps between."""

    text: str
    css: str = ""
    # DOM id of a heading, to which the outline leads.
    anchor: str = ""


def shown(page: CollectedPage) -> Iterator[Piece]:
    """The whole text in runs; put together they are the document's text, to the last blank."""
    text, at = page.document.text, 0
    for start, end, kind, _, is_main in page.spans:
        if at < start:
            yield Piece(text[at:start], "" if is_main else "left-out")
        css = f"block-{kind}" if is_main else f"block-{kind} left-out"
        yield Piece(text[start:end], css, f"block-{start}" if kind == Kind.HEADING else "")
        at = end
    if at < len(text):
        yield Piece(text[at:])


def outline(page: CollectedPage) -> list[dict[str, Any]]:
    """The page's headings, what was left out included."""
    return [
        {"start": start, "level": level, "is_main": is_main, "text": page.document.text[start:end]}
        for start, end, kind, level, is_main in page.spans
        if kind == Kind.HEADING
    ][:_HEADINGS]


def used_elsewhere(query: Query, page: CollectedPage) -> QuerySet[Query]:
    """Other queries of the benchmark that have a gold passage from this page."""
    standing = {"gold_passages__ended_at": None, "gold_passages__passage__document": page.document}
    rows = Query.objects.in_benchmark(page.benchmark).filter(**standing)
    return rows.exclude(pk=query.pk).distinct()[:_SHOWN]


def edited(page: CollectedPage, passage: Passage) -> Iterator[Piece]:
    """How a refined text differs from the slice it was cut as; nothing for a verbatim one."""
    changes = (passage.extra or {}).get("edits", ())
    piece, at = page.document.text[passage.start : passage.end], 0
    for place, gone, new in changes:
        yield Piece(piece[at:place])
        if gone:
            yield Piece(piece[place : place + gone], "del")
        if new:
            yield Piece(new, "ins")
        at = place + gone
    if changes:
        yield Piece(piece[at:])
