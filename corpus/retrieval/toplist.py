"""The best of many scores, equal ones in the order of their ids (docs/protocol.md 1.5, strict).

Two rankings made one: weighted sums of scores scaled to 0-1 (docs/protocol.md 5.3)."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from corpus.retrieval.protocol import Order, Scored


def scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Min-max over the list: the lowest 0, the highest 1; a list of equal scores all 0."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    width = high - low
    return {pid: (score - low) / width if width else 0.0 for pid, score in scores.items()}


def fuse(
    rankings: Sequence[Mapping[str, float]], weights: Sequence[float], k: int
) -> list[tuple[str, float]]:
    """The k best by weighted sum; who is missing from a list has 0 in it; ties by id."""
    total: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for pid, score in scaled(ranking).items():
            total[pid] = total.get(pid, 0.0) + weight * score
    return sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


# Blocks of scores for each of the best that are looked for.
_BLOCKS: Final = 4


def order_of(pids: Sequence[str]) -> Order:
    """For each document the place of its id among all ids in ascending order."""
    order = np.empty(len(pids), np.int64)
    order[sorted(range(len(pids)), key=pids.__getitem__)] = np.arange(len(pids))
    # Many searches look at it, also in the code of others.
    order.flags.writeable = False
    return order


def best(
    scores: npt.NDArray[np.float32],
    k: int,
    order: Order,
    *,
    above: float | None = None,
) -> Scored:
    """Documents with the k highest scores, and these, the highest first.

    `above` leaves out what does not exceed it.
    """
    found = np.flatnonzero(_candidates(scores, k, above))
    if len(found) > k:
        values = scores[found]
        bar = np.partition(values, len(values) - k)[len(values) - k]
        sure, tied = found[values > bar], found[values == bar]
        tied = tied[np.argsort(order[tied])][: k - len(sure)]
        found = np.concatenate([sure, tied])
    found = found[np.lexsort((order[found], -scores[found]))]
    return found, scores[found]


def _candidates(
    scores: npt.NDArray[np.float32], k: int, above: float | None
) -> npt.NDArray[np.bool_]:
    """Which scores can be among the k highest: far fewer than all, for little more than one look.

    So many blocks of scores have one that reaches the k-th highest of their maxima, and so many
    scores reach it, too.
    """
    size = len(scores) // (_BLOCKS * max(1, k))
    if size < 2:
        return np.ones(len(scores), np.bool_) if above is None else scores > above
    whole = scores[: len(scores) // size * size].reshape(-1, size).max(axis=1)
    bar = np.partition(whole, len(whole) - k)[len(whole) - k]
    return scores > above if above is not None and not bar > above else scores >= bar


def best_of(
    found: Scored,
    k: int,
    owner: npt.NDArray[np.int64],
    order: Order,
) -> Scored:
    """The k best documents of scored chunks: a document has the score of its best chunk.

    `found` as `best` gives it; `owner` says which document each chunk is of, `order` the place of
    each document's id (docs/protocol.md 5.1, step 7).
    """
    chunks, scores = found
    documents, first = np.unique(owner[chunks], return_index=True)
    scores = scores[first]
    ranked = np.lexsort((order[documents], -scores))[:k]
    return documents[ranked], scores[ranked]


def plain(scores: npt.NDArray[np.float32]) -> list[float]:
    """The same numbers with the fewest digits that tell single precision apart."""
    return [float(text) for text in scores.astype(np.float32).astype("U32").tolist()]
