"""How well labels hold up against a reference: recall of each class and their mean.

DREAM's labelling accuracy is this balanced accuracy over valid items that were not escalated
(docs/protocol.md 6.9).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kit.stats.means import mean_proportion
from kit.stats.proportions import Proportion, proportion
from kit.stats.results import Interval


@dataclass(frozen=True)
class ClassReport:
    """Recall per class in the order given, balanced accuracy, share of items without a label.

    `table[i][j]` counts items of true class i that got class j, leaving out those without one.
    `balanced_accuracy` is None, with a reason, where a class has no items.
    """

    recalls: tuple[Proportion, ...]
    balanced_accuracy: float | None
    interval: Interval | None
    left_out: Proportion
    table: tuple[tuple[int, ...], ...]
    reason: str = ""


def class_report(
    truth: Sequence[Hashable],
    given: Sequence[Hashable | None],
    *,
    classes: Sequence[Hashable],
    confidence: float = 0.95,
) -> ClassReport:
    """Compare labels with a reference; None in `given` is an item that was escalated.

    Raises ValueError for sequences of unequal length and for labels outside `classes`.
    """
    pairs = Counter(zip(truth, given, strict=True))
    known = set(classes)
    for true, label in pairs:
        if true not in known or (label is not None and label not in known):
            raise ValueError(f"{(true, label)!r} names a label outside {list(classes)!r}.")
    table = tuple(tuple(pairs[true, label] for label in classes) for true in classes)
    recalls = tuple(
        proportion(row[at], sum(row), confidence=confidence) for at, row in enumerate(table)
    )
    missing = sum(count for (_, label), count in pairs.items() if label is None)
    left_out = proportion(missing, len(truth), confidence=confidence)
    empty = [str(true) for true, recall in zip(classes, recalls, strict=True) if not recall.n]
    if empty:
        reason = f"No item of class {', '.join(empty)}."
        return ClassReport(recalls, None, None, left_out, table, reason)
    balanced = mean_proportion(recalls, confidence=confidence)
    return ClassReport(recalls, balanced.value, balanced.interval, left_out, table)
