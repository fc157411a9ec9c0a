"""When a pile of work will be done, from what was done each day so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

METHOD = "Gamma-Poisson, with the spread of the days so far"
MIN_DAYS = 3
MAX_DAYS = 3_650


@dataclass(frozen=True)
class Forecast:
    """Days from now until the rest is done: the median, and an interval.

    None where nothing can be said: too few days, nothing done, or more than ten years.
    """

    days: int | None
    low: int | None
    high: int | None
    per_day: float
    confidence: float
    method: str = METHOD


def forecast(done: Sequence[int], remaining: int, *, confidence: float = 0.9) -> Forecast:
    """Forecast from the numbers `done` on each past day, idle days included.

    Work comes like events of a Poisson process whose rate has Jeffreys' prior: after T done in n
    days the rate is Gamma(T + 1/2, n), the wait for R more Gamma(R, rate), so that wait / n has a
    beta prime distribution with R and T + 1/2. Days that vary more than Poisson's divide both by
    their variance over mean (quasi-Poisson). Trends and holidays to come are not foreseen. Raises
    ValueError for a negative number.
    """
    if remaining < 0 or any(each < 0 for each in done):
        raise ValueError("numbers of things done or left cannot be negative")
    n, total = len(done), sum(done)
    per_day = total / n if n else 0.0
    if remaining == 0:
        return Forecast(0, 0, 0, per_day, confidence)
    if n < MIN_DAYS or total == 0:
        return Forecast(None, None, None, per_day, confidence)
    spread = max(1.0, float(np.var(done, ddof=1)) / per_day)
    tail = (1 - confidence) / 2
    waits = []
    for level in (tail, 0.5, 1 - tail):
        # Beta and beta prime: x / (1 - x).
        x = float(special.betaincinv(remaining / spread, (total + 0.5) / spread, level))
        waits.append(n * x / (1 - x) if x < 1 else math.inf)
    if max(waits) > MAX_DAYS:
        return Forecast(None, None, None, per_day, confidence)
    low, middle, high = (max(1, math.ceil(wait)) for wait in waits)
    return Forecast(middle, low, high, per_day, confidence)
