"""Building a pool out of rankings (docs/protocol.md 2.1), pure."""

from .counts import PoolCounts, SystemCounts
from .union import Ranking, SystemRank, duplicates, top, union

__all__ = ["PoolCounts", "Ranking", "SystemCounts", "SystemRank", "duplicates", "top", "union"]
