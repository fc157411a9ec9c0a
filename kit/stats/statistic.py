"""A coefficient as a function of sums over items, which makes resampling cheap.

Items that look alike form one unit with a count, so that 5,000 items of three binary votes are
four units. A resample is a row of counts; the coefficient takes any number of rows at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import Floats

_CHUNK = 4_000_000  # floats in one intermediate array, about 32 MB


@dataclass(frozen=True, eq=False)
class Statistic:
    """What items can look like, and how sums over them become a coefficient.

    `units` (units, ...) are distinct items; `features` maps a slice of them to (slice, d);
    `value` maps sums (..., d) to the coefficient (...), NaN where it is undefined;
    `differ` maps sums to the chance that two labels differ, from the margins alone.
    `lowest` is the coefficient's lower bound, -1 or 0; the upper one is 1.
    """

    units: NDArray
    features: Callable[[NDArray], Floats]
    value: Callable[[Floats], Floats]
    differ: Callable[[Floats], Floats]
    lowest: float = -1.0

    def totals(self, counts: Floats) -> Floats:
        """Sums (..., d) over items, for counts (..., units)."""
        total: Floats = np.zeros(())
        for part in self._slices(counts[..., 0].size):
            total = total + counts[..., part] @ self.features(self.units[part])
        return total

    def left_out(self, totals: Floats) -> Floats:
        """The coefficient without one item of each unit: (..., units), for sums (..., d)."""
        values = np.empty((*totals.shape[:-1], len(self.units)))
        for part in self._slices(totals[..., 0].size):
            features = self.features(self.units[part])
            values[..., part] = self.value(totals[..., None, :] - features)
        return values

    def _slices(self, rows: int) -> Iterator[slice]:
        width = self.features(self.units[:1]).shape[1]
        step = max(1, _CHUNK // (max(rows, 1) * width))
        for start in range(0, len(self.units), step):
            yield slice(start, start + step)


def ratio_to_chance(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected disagreement; NaN where chance leaves no room to disagree."""
    room = expected > 1e-12
    return np.where(room, 1 - observed / np.where(room, expected, 1), np.nan)


def distinct(rows: NDArray) -> tuple[NDArray, Floats]:
    """Distinct rows and how often each occurs."""
    units, counts = np.unique(rows, axis=0, return_counts=True)
    return units, counts.astype(np.float64)
