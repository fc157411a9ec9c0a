"""Holes of one domain over its systems: who found what, how the find grows, what is unseen.

docs/protocol.md 6.5 to 6.7; growth by aspects: X07. The numbers are for ten seeded orders.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from evaluation.metrics import relevance
from evaluation.metrics.case import Case, Values
from evaluation.metrics.growth import (
    aspect_weights,
    found_holes,
    mean_growth,
    mean_marginal,
    random_orders,
    undiscovered,
)
from evaluation.metrics.run import Flags

DEPTH = 10
ORDERS = 10
# Measures whose change is the contribution of a held-out system (docs/protocol.md 6.7).
PERFORMANCE: Mapping[str, Callable[[Case, int | None], Values]] = {
    "hit@10": relevance.hit,
    "nDCG@10": relevance.ndcg,
    "recall@10": relevance.recall,
}
# Beyond so many systems the contribution of a held-out one is not computed: it grows with their
# cube.
MAX_SYSTEMS = 40


def holes_of(cases: Mapping[int, Case], names: Mapping[int, str], *, seed: int) -> dict[str, Any]:
    """Everything about one domain, as JSON; `cases` by run are of one gold."""
    runs = list(cases)
    ordered = [cases[run] for run in runs]
    found = found_holes(ordered, DEPTH)
    times = found.sum(axis=0)
    case = ordered[0]
    assert case.gold.hole is not None
    holes = case.gold.hole & case.relevant
    # For each order the holes reached by its first 1, 2, ... systems.
    drawn = random_orders(len(found), ORDERS, seed)
    reached = [np.logical_or.accumulate(found[order], axis=0).sum(axis=1) for order in drawn]
    return {
        "holes": int(holes.sum()),
        "reached": int((times > 0).sum()),
        "undiscovered": undiscovered(found),
        "systems": [
            {
                "run": run,
                "name": names[run],
                "found": int(found[place].sum()),
                "alone": int((found[place] & (times == 1)).sum()),
            }
            for place, run in enumerate(runs)
        ],
        "reach": [each.tolist() for each in reached],
        "growth": mean_growth(found, seed=seed, orders=ORDERS),
        "aspect_growth": _aspect_growth(case, found, seed),
        "marginal": _marginal(ordered, found, seed),
    }


def _aspect_growth(case: Case, found: Flags, seed: int) -> list[float | None] | None:
    """Growth in which a hole counts as much as its aspects weigh; None without aspects."""
    if case.gold.aspects is None or not len(case.gold.aspects.row):
        return None
    weights = aspect_weights(case)
    if not weights[found.any(axis=0)].any():
        return None
    return mean_growth(found, seed=seed, orders=ORDERS, weights=weights)


def _marginal(cases: list[Case], found: Flags, seed: int) -> dict[str, list[float | None]] | None:
    if len(cases) > MAX_SYSTEMS:
        return None
    return {
        name: mean_marginal(cases, found, partial(_mean, compute), seed=seed, orders=ORDERS)
        for name, compute in PERFORMANCE.items()
    }


def _mean(compute: Callable[[Case, int | None], Values], case: Case) -> float | None:
    return compute(case, DEPTH).mean
