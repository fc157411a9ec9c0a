"""Cutting a text at the edges of the quotes marked in it. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int, str]


@dataclass(frozen=True)
class Segment:
    """A stretch of text that is marked the same way throughout; joined they give the text.

    `a` and `b` say whose quotes cover it; `anchor` is set where a quote begins.
    """

    text: str
    a: bool = False
    b: bool = False
    anchor: str = ""

    @property
    def css(self) -> str:
        """The classes of the mark around it; "" for plain text."""
        return " ".join(side for side in ("a", "b") if getattr(self, side))


def segments(text: str, spans: Iterable[Span]) -> list[Segment]:
    """Cut `text` by spans (start, end, side) in code points; spans may overlap in any way.

    A span that does not lie in the text is left out: marking may never change what is read.
    """
    steps: dict[int, Counter[str]] = {0: Counter(), len(text): Counter()}
    begins = set()
    for start, end, side in spans:
        if 0 <= start < end <= len(text):
            steps.setdefault(start, Counter())[side] += 1
            steps.setdefault(end, Counter())[side] -= 1
            begins.add(start)
    # One walk along the edges, counting what covers each place: a thousand quotes of a talkative
    # model must not cost a thousand times a thousand looks.
    covering: Counter[str] = Counter()
    parts = []
    for start, end in pairwise(sorted(steps)):
        covering.update(steps[start])
        parts.append(
            Segment(
                text=text[start:end],
                a=covering["a"] > 0,
                b=covering["b"] > 0,
                anchor=anchor(start) if start in begins else "",
            )
        )
    return parts


def anchor(start: int) -> str:
    """DOM id of the mark where a quote begins."""
    return f"mark-{start}"
