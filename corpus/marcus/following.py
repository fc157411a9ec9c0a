"""Whether passages that ids number as pieces of a page follow one another in it. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

# A text that ends as another begins, over so many characters, overlaps it.
_OVERLAP: Final = 20
_LONGEST_OVERLAP: Final = 20_000
ENDED: Final = (".", "!", "?", "…", ":", ";", '"', "”", ")", "。", "！", "？")
# Of the places between two pieces so many show that the text goes on there. Pages that are cut by
# their length go on at most of them; texts that only share a name, by chance, at a quarter where
# their lines are ragged (docs/measurements.md).
_LEAST: Final = 0.4
GAPS: Final = "their numbers have gaps, or do not begin with 0 or 1"
NOTHING_SHOWN: Final = "no text goes on in the next one"


def why_apart(pieces: Sequence[tuple[int, str, str]]) -> str:
    """Why pieces (number, beginning and end of the text), in any order, are no page; "" if they
    are one: no number is missing, and texts overlap or sentences go on from one to the next."""
    ordered = sorted(pieces)
    numbers = [number for number, _, _ in ordered]
    if numbers[0] not in (0, 1) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return GAPS
    going_on = broken = 0
    for (_, _, before), (_, after, _) in pairwise(ordered):
        follows = goes_on(before, after)
        going_on += follows is True
        broken += follows is False
    return "" if is_shown(going_on, broken, len(ordered) - 1) else NOTHING_SHOWN


def is_shown(going_on: int, broken: int, places: int, least: float = _LEAST) -> bool:
    """Whether so many of the places where a text goes on, or cannot, make the pieces a page."""
    return going_on >= max(1, least * places) and going_on > broken


def goes_on(before: str, after: str) -> bool | None:
    """Whether a text goes on in another: they overlap, or a sentence is cut between them. False
    where one ends with a sentence and the other begins within one, None where nothing tells."""
    if overlap(before, after):
        return True
    end, begin = before.rstrip(), after.lstrip()
    if not end or not begin or not (begin[0].islower() or begin[0] in ",;)"):
        return None
    return not end.endswith(ENDED)


def overlap(before: str, after: str) -> int:
    """How many characters at the end of one text are the beginning of the other; 0 for few."""
    longest = min(len(before), len(after), _LONGEST_OVERLAP)
    end = before[len(before) - longest :]
    first = end.find(after[:_OVERLAP])
    if longest < _OVERLAP or first < 0:
        return 0
    # How much of the beginning ends at each place, as Knuth, Morris and Pratt find it: first in the
    # beginning itself, then, behind a sign that is in no text, in the end of the other text.
    end = end[first:]
    signs = [*after[: len(end)], None, *end]
    borders = [0] * len(signs)
    for place in range(1, len(signs)):
        length = borders[place - 1]
        while length and signs[place] != signs[length]:
            length = borders[length - 1]
        borders[place] = length + (signs[place] == signs[length])
    return borders[-1] if borders[-1] >= _OVERLAP else 0
