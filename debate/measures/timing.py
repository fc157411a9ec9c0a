"""How long pairs take and what they cost (docs/protocol.md 1.4; DREAM, Table 11)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kit.stats.means import Mean, mean


@dataclass(frozen=True)
class Spent:
    """One pair: seconds of each agent in each round, and USD (None where no price is known)."""

    rounds: Sequence[Sequence[float]]
    usd: float | None = None

    @property
    def sequential_s(self) -> float:
        """All agents one after the other."""
        return sum(sum(agents) for agents in self.rounds)

    @property
    def parallel_s(self) -> float:
        """The agents of a round at once: each round lasts as long as its slowest."""
        return sum(max(agents, default=0.0) for agents in self.rounds)


@dataclass(frozen=True)
class Timing:
    """Means per pair with their intervals."""

    sequential_s: Mean
    parallel_s: Mean
    usd: Mean


def timing(pairs: Iterable[Spent]) -> Timing:
    """Latency and cost of a pair; cost over the pairs whose price is known."""
    pairs = list(pairs)
    return Timing(
        sequential_s=mean([pair.sequential_s for pair in pairs]),
        parallel_s=mean([pair.parallel_s for pair in pairs]),
        usd=mean([pair.usd for pair in pairs if pair.usd is not None]),
    )
