"""What a run's labels are worth: recalls beside a reference, persistence, flips, time and cost.

docs/protocol.md 1.4, 6.9 and 6.10; DREAM, Tables 11 and 12.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kit.stats.means import Mean, mean, mean_proportion
from kit.stats.paired import mcnemar
from kit.stats.proportions import Proportion, proportion

Trajectory: TypeAlias = tuple[Mapping[int, int | None], int | None]
"""The label agreed on in each round of a pair, None without one; and the reference's label."""


def persistence(trajectories: Iterable[Trajectory]) -> dict[int, tuple[Proportion, ...]]:
    """By round, as far as any pair of the cohort was debated that agreed in the first round.

    Of the pairs debated so far: in agreement at this round, on whatever label, and on that of round
    one. Wrong agreements, of the agreements and of the cohort, among pairs with a reference: the
    paper leaves the divisor open.
    """
    cohort = [each for each in trajectories if each[0].get(1) is not None]
    rounds = sorted({number for labels, _ in cohort for number in labels})
    return {number: _at(number, cohort) for number in rounds}


def _at(number: int, cohort: list[Trajectory]) -> tuple[Proportion, ...]:
    debated = [(labels, truth) for labels, truth in cohort if number in labels]
    agreed = [(labels, truth) for labels, truth in debated if labels[number] is not None]
    same = sum(labels[number] == labels[1] for labels, _ in agreed)
    checked = [labels[number] == truth for labels, truth in agreed if truth is not None]
    wrong = checked.count(False)
    with_truth = sum(truth is not None for _, truth in debated)
    return (
        proportion(len(agreed), len(debated)),
        proportion(same, len(debated)),
        proportion(wrong, len(checked)),
        proportion(wrong, with_truth),
    )


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
        return mcnemar(self.to_relevant, self.to_irrelevant)


def flips(pairs: Iterable[tuple[Label, Label]]) -> Flips:
    """The matrix of (first label, second label)."""
    return Flips(Counter(pairs))


Spent: TypeAlias = tuple[Sequence[Sequence[float]], float | None]
"""One pair: seconds of each agent in each round, and USD (None where no price is known)."""


@dataclass(frozen=True)
class Timing:
    """Means per pair with their intervals."""

    sequential_s: Mean
    parallel_s: Mean
    usd: Mean


def timing(pairs: Iterable[Spent]) -> Timing:
    """Latency and cost of a pair; cost over the pairs whose price is known.

    Its agents answer one after the other, or those of a round at once, as long as the slowest.
    """
    pairs = list(pairs)
    return Timing(
        sequential_s=mean([sum(map(sum, rounds)) for rounds, _ in pairs]),
        parallel_s=mean([sum(max(each, default=0.0) for each in rounds) for rounds, _ in pairs]),
        usd=mean([usd for _, usd in pairs if usd is not None]),
    )


@dataclass(frozen=True)
class Judged:
    """One pair: the reference's label (1 or 0), the run's (None where it gave none).

    `settled` is the label after people or an adjudicator settled an escalated pair.
    """

    truth: int
    label: int | None
    escalated: bool = False
    settled: int | None = None


@dataclass(frozen=True)
class Accuracy:
    """Recalls of both classes; undefined for a class that is empty, and so then is their mean."""

    relevant: Proportion
    irrelevant: Proportion

    @property
    def balanced(self) -> Mean:
        """The mean of the two recalls."""
        return mean_proportion([self.relevant, self.irrelevant])


@dataclass(frozen=True)
class Comparison:
    """A run compared with a reference.

    `labelled` is over the pairs that the run labelled itself; in `overall` an escalated pair
    has its settled label. `invalid` pairs have neither a label nor were they escalated:
    they are in no recall, and in the whole of the escalation ratio.
    """

    items: int
    labelled: Accuracy
    overall: Accuracy
    escalation: Proportion
    invalid: int


def compare(items: Iterable[Judged]) -> Comparison:
    """Measure labels against their reference; every item counts once."""
    items = list(items)
    escalated = sum(item.escalated for item in items)
    own = [(item.truth, item.label) for item in items if not item.escalated]
    after = [(item.truth, item.settled if item.escalated else item.label) for item in items]
    invalid = sum(label is None for _, label in own)
    return Comparison(
        items=len(items),
        labelled=_accuracy(own),
        overall=_accuracy(after),
        escalation=proportion(escalated, len(items)),
        invalid=invalid,
    )


def _accuracy(pairs: list[tuple[int, int | None]]) -> Accuracy:
    return Accuracy(relevant=_recall(pairs, 1), irrelevant=_recall(pairs, 0))


def _recall(pairs: list[tuple[int, int | None]], label: int) -> Proportion:
    of_class = [given for truth, given in pairs if truth == label and given is not None]
    return proportion(sum(given == label for given in of_class), len(of_class))
