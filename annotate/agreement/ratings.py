"""One person's label on one item, with what a report cuts by."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import cast

from numpy.typing import NDArray

from kit.stats.ratings import Level, Ratings, from_triples


@dataclass(frozen=True)
class Rating:
    """One rater's label that counts.

    `rater` is who is compared: the person for votes, the part played (author, blind reviewer)
    for weights that two people score, whoever they are. `item` leads back to its row. `month` is
    "2026-11"; `guideline` the version that applied, "" where none was recorded.
    """

    item: int
    rater: Hashable
    label: int
    person: int
    domain: str = ""
    month: str = ""
    guideline: str = ""


@dataclass(frozen=True)
class Scale:
    """All labels in their order, and their level of measurement."""

    level: Level
    categories: tuple[int, ...]


BINARY = Scale("nominal", (0, 1))


def ratings_of(given: Iterable[Rating], scale: Scale) -> Ratings:
    """The ratings as a table; ValueError for a label outside the scale or a second one."""
    triples = ((each.item, each.rater, each.label) for each in given)
    return from_triples(triples, categories=scale.categories, scores=scale.categories)


def items_at(ratings: Ratings, rows: NDArray) -> tuple[int, ...]:
    """The items of these rows of `ratings_of`, for links to what lies behind a number."""
    return tuple(cast(int, ratings.items[row]) for row in rows)
