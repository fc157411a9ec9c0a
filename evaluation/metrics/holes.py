"""Holes: relevant passages outside the original gold (docs/protocol.md 6.5; aspect-aware: X07)."""

import numpy as np

from evaluation.metrics.case import Case, Values, Why, distinct, ratio, sums
from evaluation.metrics.relevance import length
from evaluation.metrics.run import Flags, Floats


def hole(case: Case, k: int | None, divisor: str = "k") -> Values:
    """Share of the first k that are holes; divided by k also where fewer are returned."""
    found = case.count(_holes(case)[case.ranked.row], k)
    return case.defined(ratio(found, length(case, k, divisor)), case.relevant_count > 0)


def unjudged(case: Case, k: int | None, divisor: str = "k") -> Values:
    """Share of the first k that no label says anything about."""
    judged = case.count(np.ones(len(case.ranked.row), np.bool_), k)
    found = np.maximum(length(case, k, "returned") - judged, 0)
    return case.defined(ratio(found, length(case, k, divisor)), case.relevant_count > 0)


def aspect_hole(case: Case, k: int | None, divisor: str = "k") -> Values:
    """hole@k in which a hole counts as much as the normalised weight of its aspects."""
    which, aspect = case.pairs
    is_hole = _holes(case)[case.ranked.row[which]] & case.within(k)[which]
    query = case.ranked.query[which[is_hole]]
    found = sums(query, case.aspects.share[aspect[is_hole]], case.size)
    return _of_aspects(case, ratio(found, length(case, k, divisor)))


def new_aspect(case: Case, k: int | None) -> Values:
    """Normalised weight of the aspects that a hole in the first k supports and no original does."""
    holes = _holes(case)
    had = np.zeros(len(case.aspects.weight), np.bool_)
    had[case.aspects.aspect[~holes[case.aspects.row]]] = True
    which, aspect = case.pairs
    is_new = holes[case.ranked.row[which]] & case.within(k)[which] & ~had[aspect]
    opened = distinct(aspect[is_new], len(had))
    found = sums(case.aspects.query[opened], case.aspects.share[opened], case.size)
    return _of_aspects(case, found)


def _holes(case: Case) -> Flags:
    """For each gold row; raises ValueError where no original gold is known."""
    if case.gold.hole is None:
        raise ValueError("The gold does not say which labels are original.")
    return case.gold.hole & case.relevant


def _of_aspects(case: Case, values: Floats) -> Values:
    has_aspects = np.bincount(case.aspects.query, minlength=case.size) > 0
    why = np.where(case.relevant_count > 0, int(Why.NO_ASPECTS), int(Why.NO_GOLD))
    is_defined = has_aspects & (case.relevant_count > 0)
    return Values(np.where(is_defined, values, 0.0), np.where(is_defined, 0, why))
