"""Two runs over the same pairs: which labels changed, and whether by more than chance."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from kit.stats.paired import mcnemar
from kit.stats.proportions import Proportion, proportion

Label = int | None


@dataclass(frozen=True)
class Flips:
    """Counts by (label of the first run, label of the second); None is a pair without one."""

    cells: Counter[tuple[Label, Label]] = field(default_factory=Counter)

    @property
    def both(self) -> int:
        """Pairs that both runs labelled."""
        return sum(n for (one, two), n in self.cells.items() if one is not None and two is not None)

    @property
    def to_relevant(self) -> int:
        """Pairs that only the second run calls relevant."""
        return self.cells[0, 1]

    @property
    def to_irrelevant(self) -> int:
        """Pairs that only the first run calls relevant."""
        return self.cells[1, 0]

    @property
    def flipped(self) -> Proportion:
        """Changed labels of those that both gave."""
        return proportion(self.to_relevant + self.to_irrelevant, self.both)

    @property
    def p_value(self) -> float | None:
        """McNemar's exact test that both directions are equally likely; None without a flip."""
        return mcnemar(self.to_relevant, self.to_irrelevant).p_value


def flips(pairs: Iterable[tuple[Label, Label]]) -> Flips:
    """The matrix of (first label, second label)."""
    return Flips(Counter(pairs))
