"""What became of everything that was ranked high enough."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    """What became of everything that was ranked high enough."""

    queries: int = 0
    pairs: int = 0
    gold_removed: int = 0
    unknown: int = 0
    without_text: int = 0
    twins: int = 0
    skipped_no_answer: int = 0
    systems: dict[int, SystemCounts] = field(default_factory=dict)
