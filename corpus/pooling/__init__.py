"""Building a pool out of rankings (docs/protocol.md 2.1), pure."""

from .counts import PoolCounts, SystemCounts
from .union import Place, Ranking, top, twins, union

__all__ = ["Place", "PoolCounts", "Ranking", "SystemCounts", "top", "twins", "union"]
