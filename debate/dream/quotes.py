"""Finding quoted evidence in the passage it is said to come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from .types import Quote

WORD = re.compile(r"\S+")


class Text:
    """A passage with single blanks for its white space, and the way back to its offsets."""

    def __init__(self, passage: str) -> None:
        self._passage = passage
        self.normal = " ".join(passage.split())

    def locate(self, quote: str) -> Quote:
        """The first occurrence of a quote, letter for letter but for white space.

        Only white space is forgiven (docs/protocol.md 2.3): a changed letter, accent, dash or
        quotation mark is a changed quote, and a person should see that it is.
        """
        needle = " ".join(quote.split())
        place = self.normal.find(needle) if needle else -1
        if place < 0:
            return Quote(quote, None, None)
        return Quote(quote, self._origin(place), self._origin(place + len(needle) - 1) + 1)

    def _origin(self, place: int) -> int:
        """Offset in the passage of a letter of the normal text (never of a blank).

        Counted anew for each quote that is found: a list of all words would cost more than all
        else that a turn's answer goes through.
        """
        if self.normal == self._passage:
            return place
        number = self.normal.count(" ", 0, place)
        word = next(islice(WORD.finditer(self._passage), number, None))
        return word.start() + place - (self.normal.rfind(" ", 0, place) + 1)


def locate(quote: str, passage: str) -> Quote:
    """Where a quote stands in a passage: [start, end) in code points of the passage as given."""
    return Text(passage).locate(quote)


def locate_all(quotes: Iterable[str], passage: str) -> tuple[Quote, ...]:
    """Every quote that says something, located, in the order given."""
    text = Text(passage)
    return tuple(text.locate(quote) for quote in quotes if quote.strip())
