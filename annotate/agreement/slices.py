"""Agreement by domain, month and guideline version, and the items behind each number."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from annotate.agreement.ratings import Rating, Scale, items_at, ratings_of
from kit.stats.agreement import every_coefficient
from kit.stats.intervals import DEFAULT, Options
from kit.stats.ratings import Ratings
from kit.stats.results import Estimate

Dimension = Literal["domain", "month", "guideline", "person"]
MIXED = "mixed"
ALL = "all"


@dataclass(frozen=True)
class Slice:
    """Agreement over the items of one key.

    `shared` items have two labels or more, and `split` names those on which the labels differ:
    the rows behind the number. `table[i][j]` counts ordered pairs of labels (i, j) on one item,
    each item weighing as much as it has labels (Krippendorff's coincidences), for a heat map.
    """

    key: str
    coefficients: tuple[Estimate, ...]
    n_items: int
    n_shared: int
    split: tuple[int, ...]
    table: tuple[tuple[float, ...], ...]

    def coefficient(self, name: str) -> Estimate:
        """The coefficient of this name; KeyError where there is none."""
        return {each.name: each for each in self.coefficients}[name]


def measured(
    given: Sequence[Rating], scale: Scale, *, key: str = ALL, options: Options = DEFAULT
) -> Slice:
    """Agreement over all these ratings."""
    ratings = ratings_of(given, scale)
    split = np.flatnonzero((ratings.counts > 0).sum(axis=1) > 1)
    return Slice(
        key=key,
        coefficients=tuple(every_coefficient(ratings, scale.level, options=options)),
        n_items=len(ratings.items),
        n_shared=int((ratings.counts.sum(axis=1) >= 2).sum()),
        split=items_at(ratings, split),
        table=coincidences(ratings),
    )


def sliced(
    given: Iterable[Rating], scale: Scale, by: Dimension, *, options: Options = DEFAULT
) -> tuple[Slice, ...]:
    """One slice per key, in the keys' order.

    An item goes whole into one slice: into the month of its last label, and into "mixed" where
    its labels were given under different guideline versions.
    """
    groups = grouped(given, by)
    return tuple(measured(groups[key], scale, key=key, options=options) for key in sorted(groups))


def grouped(given: Iterable[Rating], by: Dimension) -> dict[str, list[Rating]]:
    """The ratings of each key, as `sliced` measures them."""
    items: defaultdict[int, list[Rating]] = defaultdict(list)
    for each in given:
        items[each.item].append(each)
    groups: defaultdict[str, list[Rating]] = defaultdict(list)
    for group in items.values():
        groups[_key(group, by)] += group
    return dict(groups)


def _key(given: Sequence[Rating], by: Dimension) -> str:
    keys = sorted({str(getattr(each, by)) for each in given})
    if by == "month":
        return keys[-1]
    return keys[0] if len(keys) == 1 else MIXED


def coincidences(ratings: Ratings) -> tuple[tuple[float, ...], ...]:
    """Krippendorff's table of coincidences (categories, categories); symmetric."""
    counts = ratings.counts[ratings.counts.sum(axis=1) >= 2]
    weights = 1 / (counts.sum(axis=1) - 1)
    table = (counts * weights[:, None]).T @ counts - np.diag((counts * weights[:, None]).sum(0))
    return tuple(tuple(float(cell) for cell in row) for row in table)
