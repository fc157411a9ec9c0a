"""When a pile of work will be done, from what was done each day so far."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

METHOD = "days drawn anew from those so far (bootstrap)"
FEWEST_DAYS = 3
FARTHEST = 3_650


@dataclass(frozen=True)
class Forecast:
    """Days from now until the rest is done: the median, and an interval of drawn futures.

    None where nothing can be said: too few days, nothing done, or more than ten years.
    """

    days: int | None
    low: int | None
    high: int | None
    per_day: float
    confidence: float
    method: str = METHOD


def forecast(
    done: Sequence[int],
    remaining: int,
    rng: np.random.Generator,
    *,
    draws: int = 1_000,
    confidence: float = 0.9,
) -> Forecast:
    """Forecast from the numbers `done` on each past day, idle days included.

    Each future draws its days from the past ones, with replacement, until `remaining` are done;
    the interval holds the middle `confidence` of the futures. Days are taken as independent, so
    holidays to come are not foreseen. Raises ValueError for a negative number.
    """
    if remaining < 0 or any(each < 0 for each in done):
        raise ValueError("numbers of things done or left cannot be negative")
    per_day = float(np.mean(done)) if len(done) else 0.0
    if remaining == 0:
        return Forecast(0, 0, 0, per_day, confidence)
    if len(done) < FEWEST_DAYS or per_day == 0 or remaining / per_day > FARTHEST:
        return Forecast(None, None, None, per_day, confidence)
    # Four times the expected number of days is hardly ever too few; then the draw is lengthened.
    days = max(8, int(4 * remaining / per_day))
    given = np.asarray(done, dtype=np.int64)
    lengths = np.empty(draws, dtype=np.int64)
    for n in range(draws):
        total = np.cumsum(rng.choice(given, days))
        while total[-1] < remaining:
            total = np.concatenate([total, total[-1] + np.cumsum(rng.choice(given, days))])
        lengths[n] = int(np.searchsorted(total, remaining)) + 1
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(lengths, [tail, 0.5, 1 - tail], method="inverted_cdf")
    return Forecast(int(middle), int(low), int(high), per_day, confidence)
