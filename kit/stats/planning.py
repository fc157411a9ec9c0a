"""Sample size estimates: how many more double judgments an interval of some width needs."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from kit.stats.intervals import JACKKNIFE_LOGIT, JACKKNIFE_Z, PERFECT
from kit.stats.proportions import WILSON
from kit.stats.results import Estimate, Interval

_MAX_ITEMS = 10**9


@dataclass(frozen=True)
class Plan:
    """`needed` items in all and `more` of them than there are now, for the target width.

    Both are None, with a reason, where there is no forecast. It supposes that the items to come
    look like those that are in.
    """

    target_width: float
    width_now: float | None
    needed: int | None
    more: int | None
    reason: str = ""


def items_needed(estimate: Estimate, *, width: float) -> Plan:
    """Items that both raters (or all of them) must label for an interval of this `width`.

    Raises ValueError for a width that is not above 0 and below 2.
    """
    if not 0 < width < 2:
        raise ValueError("The target width lies between 0 and 2.")
    ends = estimate.interval
    if estimate.value is None or ends is None:
        reason = estimate.reason or estimate.interval_reason
        return Plan(width, None, None, None, f"No interval yet. {reason}")
    width_at = _forecast(estimate.value, ends, estimate.n_items)
    if width_at is None:
        return Plan(width, ends.width, None, None, f"No forecast for: {ends.method}.")
    enough = width * (1 + 1e-9)  # rounding asks for no further item
    needed = _smallest(lambda n: width_at(n) <= enough, start=2)
    if needed is None:
        return Plan(width, ends.width, None, None, "More items than can be counted.")
    return Plan(width, ends.width, needed, max(0, needed - estimate.n_items))


def _forecast(value: float, ends: Interval, n: int) -> Callable[[int], float] | None:
    tail = (1 - ends.confidence) / 2
    if ends.method == WILSON:
        return lambda size: wilson_width(value, size, ends.confidence)
    if ends.method == PERFECT:
        room = (1 - tail ** (1 / n)) / (1 - ends.low)
        return lambda size: (1 - tail ** (1 / size)) / room
    if ends.method == JACKKNIFE_Z:
        return _shrinking(ends, n, tail, np.arctanh, np.tanh)
    if ends.method == JACKKNIFE_LOGIT:
        return _shrinking(ends, n, tail, special.logit, special.expit)
    return None


def _shrinking(
    ends: Interval,
    n: int,
    tail: float,
    to_line: Callable[[float], float],
    from_line: Callable[[float], float],
) -> Callable[[int], float]:
    # On the line the interval is centre +- t(n - 1) * s / sqrt(n); s is read off today's ends.
    low, high = (float(to_line(min(max(end, -1 + 1e-12), 1 - 1e-12))) for end in _inside(ends))
    centre = (low + high) / 2
    spread = (high - low) / 2 / _t(n, tail) * math.sqrt(n)

    def width_at(size: int) -> float:
        reach = _t(size, tail) * spread / math.sqrt(size)
        return float(from_line(centre + reach) - from_line(centre - reach))

    return width_at


def _inside(ends: Interval) -> tuple[float, float]:
    if ends.method == JACKKNIFE_LOGIT:
        return max(ends.low, 1e-12), ends.high
    return ends.low, ends.high


def _t(n: int, tail: float) -> float:
    return float(special.stdtrit(max(n - 1, 1), 1 - tail))


def wilson_width(share: float, n: int, confidence: float = 0.95) -> float:
    """Width of Wilson's interval at n items with this share of hits, which need not be whole."""
    z2 = float(special.ndtri((1 + confidence) / 2)) ** 2
    return 2 * math.sqrt(z2 * share * (1 - share) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)


def _smallest(is_enough: Callable[[int], bool], *, start: int) -> int | None:
    """The smallest n for which `is_enough`, which once true stays true; None beyond 10^9."""
    low, high = start, start
    while not is_enough(high):
        low, high = high + 1, high * 2
        if high > _MAX_ITEMS:
            return None
    return low + bisect_left(range(low, high), True, key=is_enough)
