"""How holes add up over systems: growth rate, marginal contribution, what is still unseen.

docs/protocol.md 6.6 and 6.7 (DREAM 4.3, appendix H). Systems stand in rows of a boolean matrix
`found[system, gold row]`; all their cases are of one gold.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import TypeAlias

import numpy as np

from evaluation.metrics.case import Case
from evaluation.metrics.run import Flags, Floats

# The mean of a measure over queries, None where no query has a value.
Performance: TypeAlias = Callable[[Case], float | None]


def found_holes(cases: Sequence[Case], k: int | None) -> Flags:
    """Which holes each system has among its first k; raises ValueError without original gold."""
    found = np.zeros((len(cases), len(cases[0].gold.pids) if cases else 0), np.bool_)
    for system, case in enumerate(cases):
        if case.gold.hole is None:
            raise ValueError("The gold does not say which labels are original.")
        found[system, case.ranked.row[case.within(k)]] = True
        found[system] &= case.gold.hole & case.relevant
    return found


def growth_rates(
    found: Flags, order: Sequence[int], weights: Floats | None = None
) -> list[float | None]:
    """(|H_m| - |H_(m-1)|) / |H_(m-1)| for the first m = 1, 2, ... systems of the order.

    None for the first and wherever the set before is empty. With `weights` of the gold rows, such
    as the share of the aspect each supports, a set counts as the sum of its weights.
    """
    each = np.ones(found.shape[1]) if weights is None else weights
    reached = np.logical_or.accumulate(found[list(order)], axis=0) @ each
    before = [0.0, *reached[:-1].tolist()]
    return [
        (now - was) / was if was > 0 else None for was, now in zip(before, reached, strict=True)
    ]


def mean_growth(
    found: Flags, *, seed: int, orders: int = 10, weights: Floats | None = None
) -> list[float | None]:
    """Growth rates at each number of systems, averaged over seeded random orders, those without a
    value left out; None where no order has one."""
    drawn = random_orders(len(found), orders, seed)
    return _means([growth_rates(found, order, weights) for order in drawn])


def marginal_contribution(
    case: Case, found: Flags, target: int, known: Sequence[int], performance: Performance
) -> float | None:
    """|P(r; original + holes of S and r) - P(r; original + holes of S)| for a target r not in S.

    `case` is the target's, `known` the systems of S. None where either mean is undefined.
    """
    seen: Flags = np.asarray(found[np.array(known, np.int64)].any(axis=0))
    with_own = performance(_knowing(case, seen | found[target]))
    without = performance(_knowing(case, seen))
    return None if with_own is None or without is None else abs(with_own - without)


def mean_marginal(
    cases: Sequence[Case], found: Flags, performance: Performance, *, seed: int, orders: int = 10
) -> list[float | None]:
    """For m = 0, 1, ... known systems the mean over all others, over seeded random orders; None
    where no order has a value."""
    drawn = random_orders(len(cases), orders, seed)
    return _means([list(_over_targets(cases, found, performance, order)) for order in drawn])


def undiscovered(found: Flags) -> float | None:
    """A lower bound of the holes that no system reached: Chao's estimator from incidence.

    (m-1)/m * q1^2 / (2 q2), or (m-1)/m * q1 (q1-1) / 2 where q2 is 0; q1 and q2 count the holes
    that exactly one and two of the m systems reached (Chao 1987). None below two systems.
    """
    systems = len(found)
    if systems < 2:
        return None
    times = found.sum(axis=0)
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    factor = (systems - 1) / systems
    return factor * (once**2 / (2 * twice) if twice else once * (once - 1) / 2)


def random_orders(systems: int, orders: int, seed: int) -> list[list[int]]:
    """Seeded permutations of the systems."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(systems).tolist() for _ in range(orders)]


def aspect_weights(case: Case) -> Floats:
    """For each gold row the normalised weight of the aspects it supports."""
    weights = np.zeros(len(case.gold.pids))
    np.add.at(weights, case.aspects.row, case.aspects.share[case.aspects.aspect])
    return weights


def _knowing(case: Case, seen: Flags) -> Case:
    """The case as if the holes not seen had never been labelled relevant."""
    if case.gold.hole is None:
        raise ValueError("The gold does not say which labels are original.")
    return case.with_labels(np.where(case.gold.hole & ~seen, 0, case.gold.label))


def _over_targets(
    cases: Sequence[Case], found: Flags, performance: Performance, order: Sequence[int]
) -> Iterator[float | None]:
    for size in range(len(order)):
        known, others = order[:size], order[size:]
        values = [
            marginal_contribution(cases[each], found, each, known, performance) for each in others
        ]
        given = [value for value in values if value is not None]
        yield fmean(given) if given else None


def _means(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    given = [[value for value in point if value is not None] for point in zip(*rows, strict=True)]
    return [fmean(values) if values else None for values in given]
