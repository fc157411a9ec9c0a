"""Building a pool out of rankings (docs/protocol.md 2.1), pure: the union of the best of each."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeVar


@dataclass
class SystemCounts:
    """What one system brought: pairs of the pool, pairs that no other brought, oddities.

    `short`: queries for which it returned fewer than the depth; `absent`: queries of the pool
    that it does not rank at all.
    """

    run: int
    system: str
    pairs: int = 0
    alone: int = 0
    short: int = 0
    absent: int = 0


@dataclass
class PoolCounts:
    """What became of everything that was ranked high enough; `aspects` asked for gold."""

    queries: int = 0
    pairs: int = 0
    gold_removed: int = 0
    unknown: int = 0
    without_text: int = 0
    twins: int = 0
    skipped_no_answer: int = 0
    aspects: int = 0
    systems: dict[int, SystemCounts] = field(default_factory=dict)


K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Ranking:
    """One system's list for one query: ids as the file gives them, with scores or without."""

    pids: Sequence[str]
    scores: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class SystemRank:
    """Where a system ranked a passage; `rank` counts from 1."""

    system: str
    rank: int
    score: float | None


def top(
    ranking: Ranking, depth: int, *, excluded: Collection[str] = ()
) -> list[tuple[str, float | None]]:
    """The first `depth` different ids with their scores (docs/protocol.md 1.5, `strict`).

    By score, the highest first, equal scores by id; a list without scores is taken in its order.
    An id that comes twice counts at its first place. Excluded ids are dropped before the cut.
    """
    found: dict[str, float | None] = {}
    for pid, score in _in_order(ranking):
        if len(found) == depth:
            break
        if pid not in excluded:
            found.setdefault(pid, score)
    return list(found.items())


def _in_order(ranking: Ranking) -> Iterable[tuple[str, float | None]]:
    if ranking.scores is None:
        return [(pid, None) for pid in ranking.pids]
    pairs = list(zip(ranking.scores, ranking.pids, strict=True))
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    return [(pid, score) for score, pid in pairs]


def union(
    rankings: Mapping[str, Ranking], depth: int, *, excluded: Collection[str] = ()
) -> dict[str, list[SystemRank]]:
    """Every passage that a system has among its first `depth`, with all its places.

    In the order in which systems and their ranks first bring them.
    """
    places: dict[str, list[SystemRank]] = {}
    for system, ranking in rankings.items():
        found = top(ranking, depth, excluded=excluded)
        for rank, (pid, score) in enumerate(found, start=1):
            places.setdefault(pid, []).append(SystemRank(system, rank, score))
    return places


def duplicates(texts: Iterable[tuple[K, str | None]]) -> dict[K, K]:
    """For each key whose text came before under another key, the first key with that text.

    Letter for letter; a text that is not loaded is like no other.
    """
    first: dict[bytes, K] = {}
    found: dict[K, K] = {}
    for key, text in texts:
        if text is None:
            continue
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        earlier = first.setdefault(digest, key)
        if earlier != key:
            found[key] = earlier
    return found
