"""What a cleaning came to: counts and retention, histograms, the recommendation (4.6, 4.7)."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

LENGTH_EDGES: Final = (0, 50, 100, 200, 300, 400, 500, 600, 700, 800, 1000, 1500, 2000, 4000)
SIMILARITY_EDGES: Final = tuple(round(0.05 * n, 2) for n in range(21))
# Of a chosen width; what lies beyond the last one counts in it.
MOST_BINS: Final = 60
# Gain of the splitter alone over no cleaning, relative to that of all three agents, from the
# domain scores of BRIGHT+'s table 3 (docs/protocol.md 4.7, point 8); the paper prints .83.
PUBLISHED: Final = (58.43, 60.17, 60.39)


@dataclass(frozen=True, slots=True)
class Bin:
    """Values in [low, high); the last bin of a histogram has no upper end where `high` is None."""

    low: float
    high: float | None
    count: int


def retention(new: int, old: int) -> float | None:
    """New chunks per hundred old ones, in percent; None without old ones."""
    return 100 * new / old if old else None


def relative_gain(none: float, variant: float, full: float) -> float | None:
    """(variant - none) / (full - none); None where the full cleaning gained nothing."""
    return (variant - none) / (full - none) if full != none else None


def edges_of(width: float, *, top: float) -> tuple[float, ...]:
    """Edges from 0 in steps of `width` up to `top`, at most MOST_BINS of them."""
    count = min(MOST_BINS, max(1, math.ceil(top / width - 1e-9)))
    return tuple(round(n * width, 6) for n in range(count + 1))


def bin_of(value: float, edges: Sequence[float], *, is_open: bool) -> int:
    """The place of a value's bin; what lies outside counts in the end bins."""
    last = len(edges) - (1 if is_open else 2)
    return min(last, max(0, bisect_right(edges, value) - 1))


def histogram(values: Iterable[float], edges: Sequence[float], *, is_open: bool) -> list[Bin]:
    """How many values lie between neighbouring edges; what lies outside counts in the end bins."""
    ends: list[float | None] = [*edges, None] if is_open else [*edges]
    counts = Counter(bin_of(value, edges, is_open=is_open) for value in values)
    return [Bin(edges[n], top, counts[n]) for n, top in enumerate(ends[1:])]


def share_below(values: Sequence[float], limit: float) -> float | None:
    """The share of values below the limit; None without values."""
    return sum(value < limit for value in values) / len(values) if values else None


def distance(first: Sequence[Bin], second: Sequence[Bin]) -> float | None:
    """Total variation between two histograms with the same edges, 0 to 1."""
    a, b = sum(each.count for each in first), sum(each.count for each in second)
    if not a or not b:
        return None
    pairs = zip(first, second, strict=True)
    return sum(abs(x.count / a - y.count / b) for x, y in pairs) / 2


class Advice(NamedTuple):
    """Which preset to take, and why, in words."""

    preset: str
    why: str


def recommend(*, budget: Decimal | None, usd_s: Decimal | None, usd_full: Decimal | None) -> Advice:
    """The splitter alone, unless a budget is given that pays for all three agents.

    The splitter alone brought 89 % of the full gain in BRIGHT+'s printed scores.
    """
    gain = relative_gain(*PUBLISHED)
    assert gain is not None
    share = f"In the published scores the splitter alone brings {gain:.0%} of the full gain"
    if budget is None:
        return Advice("marcus_s", f"{share}, for fewer calls. Set a budget to compare it.")
    if usd_full is None or usd_s is None:
        return Advice(
            "marcus_s", f"{share}. The model has no known price to hold a budget against."
        )
    if usd_full <= budget:
        return Advice("marcus", f"All three agents fit: about ${usd_full:,.2f} of ${budget:,.2f}.")
    if usd_s <= budget:
        return Advice(
            "marcus_s",
            f"{share}; it fits (about ${usd_s:,.2f} of ${budget:,.2f}), all three agents would "
            f"come to about ${usd_full:,.2f}.",
        )
    return Advice(
        "diver_rules",
        f"Not even the splitter alone fits (about ${usd_s:,.2f} against ${budget:,.2f}). "
        "Cleaning by rules costs nothing.",
    )
