"""Who gave which item which label, as one array of codes."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Level = Literal["nominal", "ordinal", "interval", "ratio"]

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
MISSING = -1
# More labels than this are no categories; tables of label by label would not be small any more.
MAX_CATEGORIES = 256
# Items times raters of one table: 200 MB. Crowds of thousands on tens of thousands of items fit.
MAX_CELLS = 100_000_000


@dataclass(frozen=True, eq=False)
class Ratings:
    """Codes (items, raters): the index of the label in `categories`, or MISSING.

    `categories` is the whole scale in its order, used or not. `scores` (categories,) places the
    labels on a line for weighted kappas and the interval alpha.
    """

    codes: Codes
    categories: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]
    items: tuple[Hashable, ...]
    scores: Floats

    @cached_property
    def counts(self) -> Floats:
        """How often each item got each label: (items, categories)."""
        size = len(self.categories)
        rows, columns = np.nonzero(self.codes != MISSING)
        cells = rows * size + self.codes[rows, columns]
        flat = np.bincount(cells, minlength=len(self.codes) * size)
        return flat.reshape(-1, size).astype(np.float64)

    @cached_property
    def constant_raters(self) -> tuple[Hashable, ...]:
        """Raters with at least two labels, all of them the same."""
        return tuple(
            rater
            for rater, column in zip(self.raters, self.codes.T, strict=True)
            if (given := column[column != MISSING]).size > 1 and (given == given[0]).all()
        )

    @property
    def n_labels(self) -> int:
        """Labels given in all."""
        return int((self.codes != MISSING).sum())

    def pair(self, first: int, second: int) -> "Ratings":
        """These two raters (their indexes) alone, on the same items."""
        return Ratings(
            codes=self.codes[:, [first, second]],
            categories=self.categories,
            raters=(self.raters[first], self.raters[second]),
            items=self.items,
            scores=self.scores,
        )


def from_triples(
    triples: Iterable[tuple[Hashable, Hashable, Hashable]],
    *,
    categories: Sequence[Hashable],
    scores: Sequence[float] | None = None,
) -> Ratings:
    """Ratings of (item, rater, label) rows, items and raters in the order they first appear.

    `categories` is the whole scale in its order; `scores` are the labels' places on a line, by
    default 0, 1, 2, ... Raises ValueError for a label outside the scale, for an item that one
    rater labels twice, and for more than MAX_CELLS items times raters.
    """
    code_of = _codes(categories)
    items: dict[Hashable, int] = {}
    raters: dict[Hashable, int] = {}
    cells: dict[tuple[int, int], int] = {}
    for item, rater, label in triples:
        cell = (items.setdefault(item, len(items)), raters.setdefault(rater, len(raters)))
        if label not in code_of:
            raise ValueError(f"{label!r} is not on the scale {list(categories)!r}.")
        if cell in cells:
            raise ValueError(f"Rater {rater!r} labels item {item!r} twice.")
        cells[cell] = code_of[label]
    if len(items) * len(raters) > MAX_CELLS:
        raise ValueError(f"{len(items):,} items by {len(raters):,} raters are too many at once.")
    codes = np.full((len(items), len(raters)), MISSING, dtype=np.int16)
    for (row, column), code in cells.items():
        codes[row, column] = code
    return Ratings(codes, tuple(categories), tuple(raters), tuple(items), _scores(code_of, scores))


def from_columns(
    columns: Sequence[Sequence[Hashable | None]],
    *,
    categories: Sequence[Hashable],
    scores: Sequence[float] | None = None,
) -> Ratings:
    """Ratings of one column per rater, None where the rater gave no label.

    Raises ValueError for a label outside `categories` and for columns of unequal length.
    """
    code_of = _codes(categories) | {None: MISSING}
    if len({len(column) for column in columns}) > 1:
        raise ValueError("Every rater needs one entry per item.")
    rows = list(zip(*columns, strict=True))
    for label in {label for row in rows for label in row}:
        if label not in code_of:
            raise ValueError(f"{label!r} is not on the scale {list(categories)!r}.")
    codes = np.array([[code_of[label] for label in row] for row in rows], dtype=np.int16)
    codes = codes.reshape(len(rows), len(columns))
    raters, items = tuple(range(len(columns))), tuple(range(len(rows)))
    return Ratings(codes, tuple(categories), raters, items, _scores(_codes(categories), scores))


def _codes(categories: Sequence[Hashable]) -> dict[Hashable | None, int]:
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(
            f"{len(categories)} different labels; agreement on categories takes"
            f" {MAX_CATEGORIES} at most."
        )
    if len(set(categories)) < len(categories) or None in categories:
        raise ValueError("The scale names a label twice, or None.")
    return {label: code for code, label in enumerate(categories)}


def _scores(code_of: dict[Hashable | None, int], scores: Sequence[float] | None) -> Floats:
    placed = np.arange(len(code_of)) if scores is None else np.asarray(scores)
    if placed.shape != (len(code_of),) or not all(math.isfinite(place) for place in placed):
        raise ValueError("Every label of the scale needs one finite score.")
    return placed.astype(np.float64)
