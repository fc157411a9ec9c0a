"""How sure is a rank? Seeded resampling of labels. Intervals of means: kit.stats.means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.case import Case
from evaluation.metrics.run import Flags, Floats, Whole
from evaluation.metrics.standings import ranks_of


@dataclass(frozen=True)
class RankInterval:
    """One system's rank (1 is best) as scored, and where it lands in `level` of the draws."""

    mean: float | None
    rank: int
    low: int
    high: int
    first: float


def truth_of(labels: Whole, *, if_relevant: float, if_not: float) -> Floats:
    """For each label the chance that the passage is truly relevant.

    `if_relevant` is that chance for labels above 0 (the precision of the labelling), `if_not` for
    the others (its false omission rate), as an agreement report estimates them.
    """
    for chance in (if_relevant, if_not):
        if not 0.0 <= chance <= 1.0:
            raise ValueError("A chance lies between 0 and 1.")
    return np.where(labels > 0, if_relevant, if_not)


def rank_intervals(
    tasks: Sequence[Sequence[Case]],
    measure: Callable[[Case], float | None],
    *,
    if_relevant: float,
    if_not: float,
    seed: int,
    draws: int = 200,
    level: float = 0.95,
    step: Callable[[int], None] = lambda _: None,
) -> list[RankInterval]:
    """Ranks of systems when labels are noisy: every draw decides each label anew by its chance.

    Each task has one case a system, all of one gold; the chances are those of `truth_of`. Systems
    are ranked by the mean of `measure` over tasks, equal means share the better rank; a system
    without a mean is last. Only labels vary: queries and rankings stay. `step` gets the number of
    each draw before it is made.
    """
    labels = [cases[0].gold.label for cases in tasks]
    chances = [truth_of(each, if_relevant=if_relevant, if_not=if_not) for each in labels]
    observed = np.mean([[_or_least(measure(case)) for case in cases] for cases in tasks], axis=0)
    rng = np.random.default_rng(seed)
    totals = np.zeros((draws, len(observed)))
    for draw in range(draws):
        step(draw)
        for cases, chance in zip(tasks, chances, strict=True):
            is_true = rng.random(len(chance)) < chance
            totals[draw] += [_or_least(measure(_under(case, is_true))) for case in cases]
    drawn = ranks_of(totals)
    tail = (1.0 - level) / 2.0
    low = np.quantile(drawn, tail, axis=0, method="lower")
    high = np.quantile(drawn, 1.0 - tail, axis=0, method="higher")
    return [
        RankInterval(
            rank=int(rank),
            low=int(low[each]),
            high=int(high[each]),
            first=float((drawn[:, each] == 1).mean()),
            mean=None if np.isneginf(observed[each]) else float(observed[each]),
        )
        for each, rank in enumerate(ranks_of(observed).tolist())
    ]


def _under(case: Case, is_true: Flags) -> Case:
    """A label that is drawn true keeps its grade, or becomes 1 where it had none."""
    return case.with_labels(np.where(is_true, np.maximum(case.gold.label, 1), 0))


def _or_least(mean: float | None) -> float:
    return -np.inf if mean is None else mean
