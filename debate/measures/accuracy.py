"""Class recalls, balanced accuracy, escalation against a reference (docs/protocol.md 6.9)."""

from collections.abc import Iterable
from dataclasses import dataclass

from kit.stats.means import Mean, mean_proportion
from kit.stats.proportions import Proportion, proportion


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
