"""What a cleaning came to: counts and retention, histograms, the recommendation (4.6, 4.7).

Texts that say nearly the same."""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

_PERMUTATIONS: Final = 64
_BAND: Final = 4
_SHINGLE: Final = 5
ALIKE: Final = 0.8


def near_duplicates(texts: Sequence[str], *, least: float = ALIKE) -> list[tuple[int, int, float]]:
    """Pairs (first, second, share) of texts that share that much of their runs of five words.

    By MinHash of 64 permutations in 16 bands: pairs at .8 are found with a probability above
    .999, and their share is good to about .05.
    """
    table = np.array([_signature(text) for text in texts], dtype=np.uint64)
    candidates: set[tuple[int, int]] = set()
    for start in range(0, _PERMUTATIONS, _BAND):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for number, row in enumerate(table[:, start : start + _BAND] if len(table) else ()):
            buckets[row.tobytes()].append(number)
        for members in buckets.values():
            # All against the first: enough to find every group, and linear in its size.
            candidates |= {(members[0], other) for other in members[1:]}
    found = []
    for first, second in sorted(candidates):
        share = float((table[first] == table[second]).mean())
        if share >= least:
            found.append((first, second, share))
    return found


def _signature(text: str) -> "np.ndarray":
    words = re.findall(r"\w+", text.casefold())
    size = min(_SHINGLE, len(words)) or 1
    runs = {" ".join(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}
    hashes = np.array([crc32(run.encode("utf-8", "replace")) for run in runs], dtype=np.uint64)
    # Products stay below 2^64: factors of 31 bits times hashes of 32.
    mixed = (hashes[None, :] * _FACTORS[:, None] + _SHIFTS[:, None]) % np.uint64(_MODULUS)
    return mixed.min(axis=1)


_MODULUS: Final = 4294967291
_NUMBERS: Final = [crc32(b"assay %d" % n) for n in range(2 * _PERMUTATIONS)]
_FACTORS: Final = np.array([n // 2 | 1 for n in _NUMBERS[:_PERMUTATIONS]], dtype=np.uint64)
_SHIFTS: Final = np.array(_NUMBERS[_PERMUTATIONS:], dtype=np.uint64)


LENGTH_EDGES: Final = (0, 50, 100, 200, 300, 400, 500, 600, 700, 800, 1000, 1500, 2000, 4000)
SIMILARITY_EDGES: Final = tuple(round(0.05 * n, 2) for n in range(21))
# Of a chosen width; what lies beyond the last one counts in it.
MAX_BINS: Final = 60
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
    """Edges from 0 in steps of `width` up to `top`, at most MAX_BINS of them."""
    count = min(MAX_BINS, max(1, math.ceil(top / width - 1e-9)))
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


class MeasuredGain(NamedTuple):
    """What a cleaning gained on its own benchmark, in points of `metric`, with 95 % confidence.

    The mean over systems and queries of after minus before. `usd` is what it cost, with the runs
    whose paid work it shared; None where a part has no price.
    """

    preset: str
    run: int
    usd: Decimal | None
    gain: float
    low: float
    high: float
    metric: str
    systems: int
    queries: int

    @property
    def words(self) -> str:
        """Gain and cost, and the gain per dollar where there is one."""
        gained = f"{self.gain:+.4f} ({self.low:+.4f} to {self.high:+.4f})"
        what = f"{self.preset}, run {self.run}: {gained} {self.metric}"
        if self.usd is None:
            return f"{what}, cost not known"
        if not self.usd:
            return f"{what}, at no cost"
        one, low, high = (each / float(self.usd) for each in (self.gain, self.low, self.high))
        return f"{what} for ${self.usd:,.2f}: {one:+.4f} ({low:+.4f} to {high:+.4f}) per dollar"


class Advice(NamedTuple):
    """Which preset to take, "" where nothing says so, and why, in words."""

    preset: str
    why: str


NOTHING_KNOWN: Final = (
    "Nothing is known of what a cleaning gains on this benchmark: no version that a cleaning made "
    "has scores of the same systems as the version before it. Compute runs of both and score them."
)
_ELSEWHERE: Final = " In the paper’s own scores the splitter alone has {:.0%} of the gain."


def advised(gains: Sequence[MeasuredGain]) -> Advice:
    """The preset with the greatest measured gain per dollar, among those whose gain is above 0
    with its whole interval; one that costs nothing before all that cost something.

    Without one, none: what was measured is said all the same.
    """
    if not gains:
        share = relative_gain(*PUBLISHED)
        assert share is not None
        return Advice("", NOTHING_KNOWN + _ELSEWHERE.format(share))
    measured = "; ".join(each.words for each in gains)
    sure = [each for each in gains if each.low > 0 and each.usd is not None]
    if not sure:
        return Advice("", f"No gain of known cost is surely above 0 here. Measured: {measured}.")
    best = max(sure, key=_per_dollar)
    what = f"on {best.queries:,} queries, mean of {best.systems:,} systems"
    return Advice(best.preset, f"Measured on this benchmark {what}: {measured}.")


def _per_dollar(each: MeasuredGain) -> tuple[bool, float]:
    assert each.usd is not None
    return not each.usd, each.gain / float(each.usd or 1)
