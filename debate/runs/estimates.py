"""What a run will take, told before it starts. Pure: samples in, ranges out.

From pairs that the same prompt and models have decided (`from_measured`), or, where there are too
few, from the first requests of some pairs (`from_requests`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, stdev
from typing import Final

# Fewer measured pairs than this say less than the prompts themselves.
ENOUGH: Final = 20
# The two-sided 95 % quantile of the normal distribution.
_Z: Final = 1.96
# Tokens of an answer: a reason of up to 100 words and some quotes; least, likely, most.
OUTPUT: Final = (60.0, 150.0, 300.0)
# How far characters / 4 is off: measured on English prose it counts a fifth too many.
_COUNT_ERROR: Final = (0.75, 0.9, 1.1)


@dataclass(frozen=True, slots=True)
class Range:
    """A total as it is expected, and the bounds it should stay within."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class Pair:
    """What one pair took, or takes at first: calls, tokens, and USD where a price is known."""

    calls: int
    input_tokens: int
    output_tokens: int = 0
    usd: float | None = None
    # Of all its calls together; None where they were not timed.
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What `pairs` pairs will take, told from a sample of so many.

    `usd` is None where no price is known, `seconds` where no call was timed yet. `is_measured`:
    the sample was held to its end, and the bounds are a 95 % interval of the total; else they
    are what a pair takes at least and at most.
    """

    pairs: int
    calls: Range
    input_tokens: Range
    output_tokens: Range
    usd: Range | None
    sample: int
    is_measured: bool
    seconds: Range | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """What an endpoint takes in a minute (0: no limit), and its share of a run's calls."""

    share: float
    requests: int = 0
    tokens: int = 0


def from_measured(sample: Sequence[Pair], *, pairs: int) -> Forecast:
    """The totals of `pairs` pairs like those of the sample (at least two).

    Mean +- 1.96 standard errors, the sample taken as drawn from all pairs alike.
    """

    def total(value: Callable[[Pair], float]) -> Range:
        values = [value(pair) for pair in sample]
        mean = fmean(values)
        # Of the pairs themselves, beside the error of the mean: few pairs vary more than many.
        error = _Z * stdev(values) * sqrt(pairs * pairs / len(values) + pairs)
        return Range(max(0.0, pairs * mean - error), pairs * mean, pairs * mean + error)

    is_priced = all(pair.usd is not None for pair in sample)
    return Forecast(
        pairs=pairs,
        calls=total(lambda pair: pair.calls),
        input_tokens=total(lambda pair: pair.input_tokens),
        output_tokens=total(lambda pair: pair.output_tokens),
        usd=total(lambda pair: pair.usd or 0.0) if is_priced else None,
        sample=len(sample),
        is_measured=True,
    )


def from_requests(
    sample: Sequence[Pair],
    *,
    pairs: int,
    rounds: float,
    cost: Callable[[float, float], float] | None,
    least: float = 1,
    output: tuple[float, float, float] = OUTPUT,
) -> Forecast:
    """The totals, from the first requests of some pairs (`input_tokens` as characters / 4).

    At least every pair ends after `least` rounds, at most all `rounds` are played; likely is the
    middle. `output`: tokens of an answer, least, likely and most. `cost` gives USD for (input,
    output) tokens, None where no price is known.
    """
    if not sample:
        nothing = Range(0.0, 0.0, 0.0)
        return Forecast(pairs, nothing, nothing, nothing, nothing if cost else None, 0, False)
    played = (float(least), (least + rounds) / 2, float(rounds))
    calls = [pairs * fmean(pair.calls for pair in sample) * share for share in played]
    inputs = [
        pairs * fmean(pair.input_tokens for pair in sample) * share * error
        for share, error in zip(played, _COUNT_ERROR, strict=True)
    ]
    outputs = [count * tokens for count, tokens in zip(calls, output, strict=True)]
    usd = [cost(*tokens) for tokens in zip(inputs, outputs, strict=True)] if cost else None
    return Forecast(
        pairs=pairs,
        calls=Range(*calls),
        input_tokens=Range(*inputs),
        output_tokens=Range(*outputs),
        usd=Range(*usd) if usd else None,
        sample=len(sample),
        is_measured=False,
    )


def with_time(
    forecast: Forecast,
    *,
    call_seconds: float | None,
    in_flight: int,
    limits: Sequence[Limit] = (),
) -> Forecast:
    """The forecast with the time that it takes one worker with so many calls in flight.

    Calls x `call_seconds` / `in_flight`, and no less than what the endpoints let through in a
    minute; None for `call_seconds` is not known, and then neither is the time.
    """
    if call_seconds is None:
        return forecast

    def seconds(calls: float, tokens: float) -> float:
        slowest = [calls * call_seconds / in_flight]
        for limit in limits:
            if limit.requests:
                slowest.append(60 * limit.share * calls / limit.requests)
            if limit.tokens:
                slowest.append(60 * limit.share * tokens / limit.tokens)
        return max(slowest)

    calls, given, taken = forecast.calls, forecast.input_tokens, forecast.output_tokens
    return replace(
        forecast,
        seconds=Range(
            seconds(calls.low, given.low + taken.low),
            seconds(calls.likely, given.likely + taken.likely),
            seconds(calls.high, given.high + taken.high),
        ),
    )
