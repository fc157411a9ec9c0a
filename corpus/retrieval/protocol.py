"""What a retriever is: the one protocol of the methods here and of those that others install.

A plug-in is a class of this shape in any package, named by an entry point of the group
`assay.retrievers` (docs/computing.md). It needs nothing of Assay to run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

GROUP: Final = "assay.retrievers"
# For each text the place of its id among all: what decides between equal scores.
Order = npt.NDArray[np.int64]
Scored = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
# A default, which says what kind of value a setting takes; or (default, least, most) of a number.
Default = bool | int | float | str | tuple[float, float, float]


class Retriever(Protocol):
    """One index in its own folder. Made anew for indexing and for searching, maybe in two
    processes, with the same folder and settings: what a search needs lies in the folder."""

    @property
    def title(self) -> str:
        """What people call it; an attribute of the class, as are the next two."""

    @property
    def version(self) -> str:
        """Another one wherever the same settings would rank otherwise, or read another index."""

    @property
    def settings(self) -> Mapping[str, Default]:
        """What it may be set to, by the names that its `__init__` takes."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        """Keep what it is given; the folder is there, empty before `index`. Raises ValueError for
        settings that do not go together."""

    def index(self, texts: Iterable[str]) -> None:
        """Write the index of texts, which are read once, to the folder. They are numbered from 0
        in the order in which they come."""

    def search(
        self, queries: Sequence[str], k: int, order: Order
    ) -> Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]:
        """For each query the numbers of at most k texts, none twice, and their scores, the higher
        the better.

        They are sorted afterwards, equal scores by `order`; who looks at it as well decides by it
        who is cut off at k.
        """


class Misbehaved(ValueError):
    """What a retriever gave cannot be ranked; the message says why."""


def checked(lists: Iterable[Any], queries: Sequence[str], k: int, order: Order) -> Iterator[Scored]:
    """What a search gave, list by list, the best first. Raises Misbehaved."""
    rest = iter(lists)
    for number, query in enumerate(queries):
        try:
            given = next(rest)
        except StopIteration:
            raise Misbehaved(f"{number} lists came for {len(queries)} queries") from None
        try:
            yield _checked(given, k, order)
        except Misbehaved as fault:
            raise Misbehaved(f"{fault}, for the query {query[:60]!r}") from None
    if next(rest, None) is not None:
        raise Misbehaved(f"more lists came than {len(queries)} queries")


def _checked(given: Any, k: int, order: Order) -> Scored:
    try:
        numbers, scores = (np.asarray(each) for each in given)
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32)
    except (TypeError, ValueError):
        raise Misbehaved("a list is not a pair of numbers and scores") from None
    if numbers.ndim != 1 or numbers.shape != scores.shape:
        raise Misbehaved(f"{numbers.size} passages have {scores.size} scores")
    if len(numbers) > k:
        raise Misbehaved(f"{len(numbers)} passages came where {k} were asked for")
    if len(numbers) and numbers.dtype.kind not in "iu":
        raise Misbehaved("passages are not named by whole numbers")
    numbers = numbers.astype(np.int64)
    unknown = numbers[(numbers < 0) | (numbers >= len(order))]
    if len(unknown):
        raise Misbehaved(f"passage {unknown[0]} is none of 0 to {len(order) - 1}")
    if len(np.unique(numbers)) < len(numbers):
        values, times = np.unique(numbers, return_counts=True)
        raise Misbehaved(f"passage {values[times > 1][0]} is listed more than once")
    if not np.isfinite(scores).all():
        raise Misbehaved(
            f"passage {numbers[~np.isfinite(scores)][0]} has a score that is no number"
        )
    ranked = np.lexsort((order[numbers], -scores))
    return numbers[ranked], scores[ranked]
