"""What a trace comes to: gold by round, repetitions, AER, noise (docs/protocol.md 3.4, 3.6, 6.13).

Lists are of document ids by round: what the searches of a round returned, in the order of calls.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, Final

from evaluation.agents.protocol.tools import Use
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score

GAMMA: Final = 0.05
PER_ROUND: Final = 5
Rounds = Mapping[int, Sequence[str]]


def aer(quality: float, rounds: float, gamma: float = GAMMA) -> float:
    """Quality times e^(-gamma (R - 1)). Raises ValueError for R below 1: such a run is left out."""
    if rounds < 1:
        raise ValueError("AER needs one round at least.")
    return quality * exp(-gamma * (rounds - 1))


def found_in(uses: Sequence[Use]) -> list[str]:
    """What the searches of one round returned, in the order of calls."""
    return [docid for use in uses for docid in use.docids]


def round_count(rounds: Rounds) -> int:
    """R: distinct rounds that returned a document."""
    return sum(bool(found) for found in rounds.values())


def cumulative(rounds: Rounds, upto: int) -> list[str]:
    """Unique documents of the rounds up to this one, first seen first."""
    seen = (docid for number in sorted(rounds) if number <= upto for docid in rounds[number])
    return list(dict.fromkeys(seen))


def alpha_by_round(
    rounds: Rounds, aspects: Mapping[str, Aspect], upto: int, per_round: int = PER_ROUND
) -> list[float | None]:
    """alpha-nDCG at 5, 10, 15, ... of the list so far, after each round up to `upto`.

    A query without a search counts 0, one without gold that supports an aspect has no value.
    """
    return alphas({"q": rounds}, {"q": aspects}, upto, per_round)["q"]


def alphas(
    rounds: Mapping[str, Rounds],
    aspects: Mapping[str, Mapping[str, Aspect]],
    upto: int,
    per_round: int = PER_ROUND,
) -> dict[str, list[float | None]]:
    """The same of many queries at once."""
    labels = {
        key: dict.fromkeys(sorted({pid for each in named.values() for pid in each.passages}), 1)
        for key, named in aspects.items()
        if key in rounds
    }
    found: dict[str, list[float | None]] = {key: [None] * upto for key in rounds}
    labels = {key: own for key, own in labels.items() if own}
    if not labels:
        return found
    gold = Gold.of(labels, aspects={key: dict(aspects[key]) for key in labels}, complete=False)
    for number in range(1, upto + 1):
        name = f"alpha_nDCG@{per_round * number}"
        run = Run.of(
            {
                key: {pid: float(-at) for at, pid in enumerate(cumulative(rounds[key], number))}
                for key in labels
            }
        )
        for key, value in score(run, gold, name)[name].as_dict().items():
            found[key][number - 1] = value
    return found


def coverage(rounds: Rounds, aspects: Mapping[str, Aspect]) -> list[dict[str, Any]]:
    """Every aspect with its `name` and `weight`, the gold `found`, how much is `there`, and the
    `first_round` with any."""
    first = first_rounds(rounds)
    table = []
    for name, aspect in aspects.items():
        found = sorted(
            (pid for pid in aspect.passages if pid in first), key=lambda p: (first[p], p)
        )
        when = first[found[0]] if found else None
        gold = {"found": found, "there": len(aspect.passages), "first_round": when}
        table.append({"name": name, "weight": aspect.weight, **gold})
    return table


def first_rounds(rounds: Rounds) -> dict[str, int]:
    """The round in which each document was first returned."""
    first: dict[str, int] = {}
    for number in sorted(rounds):
        for docid in rounds[number]:
            first.setdefault(docid, number)
    return first


def repetitions(
    rounds: Rounds, gold: Collection[str]
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Documents that searches returned more than once, and how often, most first: the others, and
    the gold."""
    times = Counter(docid for found in rounds.values() for docid in found)
    rows = [
        (docid, count)
        for docid, count in sorted(times.items(), key=lambda pair: (-pair[1], pair[0]))
        if count > 1
    ]
    return [row for row in rows if row[0] not in gold], [row for row in rows if row[0] in gold]


def novelty(rounds: Rounds) -> dict[int, float | None]:
    """Of each round the share of its documents that no round before returned; None without any."""
    seen: set[str] = set()
    found: dict[int, float | None] = {}
    for number in sorted(rounds):
        here = set(rounds[number])
        found[number] = len(here - seen) / len(here) if here else None
        seen |= here
    return found


def gold_weights(aspects: Mapping[str, Aspect]) -> dict[str, float]:
    """The weight of each gold document's aspect; of several the highest."""
    found: dict[str, float] = {}
    for aspect in aspects.values():
        for pid in aspect.passages:
            found[pid] = max(found.get(pid, 0.0), aspect.weight)
    return found


def spread(repeated: Collection[Sequence[float]]) -> tuple[int, float | None, float | None]:
    """How much repetitions differ: how many items have two of them at least, the mean of their
    population sigmas and the largest."""
    sigmas = [_sigma(each) for each in repeated if len(each) > 1]
    if not sigmas:
        return 0, None, None
    return len(sigmas), sum(sigmas) / len(sigmas), max(sigmas)


@dataclass(frozen=True)
class Noise:
    """Variance of single values within and between queries.

    Two single runs over `queries` must differ by `least` for the difference of their means to
    exceed what repeating alone does, in 95 of 100 pairs of runs.
    """

    queries: int
    within: float
    between: float
    least: float


def noise(repeated: Collection[Sequence[float]]) -> Noise | None:
    """Of queries with two repetitions at least; None without any.

    `within` is the mean sample variance of a query's repetitions, `between` the sample variance of
    the queries' means. `least` = 1.96 sqrt(2 within / queries).
    """
    lists = [each for each in repeated if len(each) > 1]
    if not lists:
        return None
    means = [sum(each) / len(each) for each in lists]
    within = sum(_sigma(each) ** 2 * len(each) / (len(each) - 1) for each in lists) / len(lists)
    between = _sigma(means) ** 2 * len(means) / (len(means) - 1) if len(means) > 1 else 0.0
    return Noise(len(lists), within, between, 1.96 * sqrt(2 * within / len(lists)))


# From so many points on an answer counts as complete: three quarters of the weight or more.
COMPLETE: Final = 4


def flips(repeated: Collection[Sequence[float]], bar: float = COMPLETE) -> tuple[int, int]:
    """Of items with two repetitions at least, how many are on both sides of the bar; and of how
    many."""
    lists = [each for each in repeated if len(each) > 1]
    return sum(min(each) < bar <= max(each) for each in lists), len(lists)


def order_flips(
    one: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> tuple[int, int]:
    """Of queries that two runs share two repetitions of at least, in how many now the one is
    better and now the other; and of how many. Values are by query and repetition."""
    flipped = queries = 0
    for query in one.keys() & other.keys():
        shared = one[query].keys() & other[query].keys()
        signs = {(a > b) - (a < b) for n in shared for a, b in [(one[query][n], other[query][n])]}
        queries += len(shared) > 1
        flipped += {1, -1} <= signs
    return flipped, queries


@dataclass(frozen=True)
class Bin:
    """Answers that state about the same confidence: its mean, and how many of them are right."""

    n: int
    least: float
    most: float
    confidence: float
    right: float


def calibration_bins(stated: Sequence[tuple[float, float]], bins: int) -> list[Bin]:
    """(confidence, was right), both from 0 to 1, in bins of equal count by confidence.

    Every pair is in one bin, also where the count does not divide; empty bins are left out. Equal
    confidences keep their order: by who is right they would be set apart.
    """
    ordered = sorted(stated, key=lambda pair: pair[0])
    n, found = len(ordered), []
    for number in range(bins):
        part = ordered[n * number // bins : n * (number + 1) // bins]
        if part:
            sums = [sum(column) for column in zip(*part, strict=True)]
            found.append(Bin(len(part), part[0][0], part[-1][0], sums[0] / len(part), sums[1]))
    return found


def calibration_error(stated: Sequence[tuple[float, float]], bins: int) -> float | None:
    """Expected calibration error over these bins. None without a pair."""
    if not stated:
        return None
    found = calibration_bins(stated, bins)
    return sum(abs(each.n * each.confidence - each.right) for each in found) / len(stated)


def _sigma(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
