"""LARA: people label the pairs that a calibrated model is least sure of (docs/protocol.md 2.9).

The course over a batch is a generator: it yields the indices of
the pairs that people shall label next, is sent their labels, and returns what came of it. So a
simulation over known labels and a live run are one code; a live run, which takes days, starts it
again with the labels it has.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .calibrations import Model, Vector
from .waiting import Waiting

BUDGETS: Final = (0.035, 0.125, 0.25, 0.5)


@dataclass(frozen=True)
class Course:
    """What a course came to: the picked indices in their order, each with the label people gave.

    `probabilities` are the calibrated ones at the end (N,), `labels` the final labels (N,):
    people's where they were asked, else 1 from 0.5 on.
    """

    picks: tuple[int, ...]
    given: tuple[int, ...]
    probabilities: Vector
    labels: NDArray[np.int64]


Labelling: TypeAlias = Generator[int, int, Course]
Batches: TypeAlias = Generator[tuple[int, ...], Sequence[int], Course]


def label_batch(model: Model, budget: int, *, groups: Sequence[Sequence[int]] = ()) -> Labelling:
    """Ask for `budget` labels, the least certain pair first; ties go to the first index.

    A budget of all but one, or more, asks for every label. With `groups` (lists of indices, as
    `groups.balanced_groups` makes them) they take turns, each with its share of the budget.
    """
    batches = label_batches(model, budget, 1, groups=groups)
    try:
        (pick,) = next(batches)
        while True:
            (pick,) = batches.send(((yield pick),))
    except StopIteration as end:
        course: Course = end.value
        return course


def label_batches(
    model: Model,
    budget: int,
    size: int,
    *,
    groups: Sequence[Sequence[int]] = (),
    asked: Sequence[tuple[int, int]] = (),
) -> Batches:
    """The same with `size` pairs at a time: within a batch nothing is learnt.

    `asked` are the (index, label) pairs of whole batches that came before, in their order: the
    course goes on behind them as if it had never stopped.
    """
    count = len(model.x)
    members: Sequence[Sequence[int]] = [group for group in groups if len(group)] or [range(count)]
    if budget >= count - 1:
        budget, ask_all = count, True
        members = [range(count)]
    else:
        ask_all = False
    done = {index for index, _ in asked}
    rest = [[index for index in group if index not in done] for group in members]
    waiting = [Waiting(model.x, group) for group in rest]
    turns = _turns(split_budget(budget, [len(group) for group in members]))
    picks = [index for index, _ in asked]
    given = [label for _, label in asked]
    for index, label in asked:
        model.learn(index, label)
    while len(picks) < budget:
        places = turns[len(picks) : len(picks) + size]
        if ask_all:
            batch = tuple(rest[0][len(picks) - len(asked) :][: len(places)])
        else:
            batch = tuple(waiting[place].take(model) for place in places)
        labels = yield batch
        for index, label in zip(batch, labels, strict=True):
            model.learn(index, label)
        picks += batch
        given += labels
    return _course(model, picks, given)


def split_budget(budget: int, sizes: Sequence[int]) -> list[int]:
    """The budget in even shares, none above its group's size, the rest one by one in turn.

    >>> split_budget(10, [2, 20, 20])
    [2, 4, 4]
    """
    shares = [min(size, budget // len(sizes)) for size in sizes]
    rest = min(budget, sum(sizes)) - sum(shares)
    while rest:
        for place, size in enumerate(sizes):
            if rest and shares[place] < size:
                shares[place] += 1
                rest -= 1
    return shares


def _turns(shares: Sequence[int]) -> list[int]:
    """Which group's turn each pick is: one after the other, until its share is used up.

    >>> _turns([1, 3])
    [0, 1, 1, 1]
    """
    rounds = range(max(shares, default=0))
    return [place for turn in rounds for place, share in enumerate(shares) if turn < share]


def budget_for(ratio: float, count: int) -> int:
    """How many pairs an escalation ratio leaves to people."""
    return round(ratio * count)


def smooth_normalize(pi: Vector, steepness: float = 5.0) -> Vector:
    """sigmoid(s (pi - mean pi)), stretched to [0, 1] over the whole batch.

    Transductive: the extremes of the batch become 0 and 1. A batch of equal values has no
    extremes and becomes 0.5.
    """
    if not len(pi):
        return pi
    smooth = 1 / (1 + np.exp(-steepness * (pi - pi.mean())))
    low, high = smooth.min(), smooth.max()
    return (smooth - low) / (high - low) if high > low else np.full(len(pi), 0.5)


def simulate(labelling: Labelling, truth: Sequence[int]) -> Course:
    """Drive a labelling to its end with labels that are known already."""
    try:
        pick = next(labelling)
        while True:
            pick = labelling.send(int(truth[pick]))
    except StopIteration as end:
        course: Course = end.value
        return course


def probabilities(model: Model) -> Vector:
    """The calibrated probability of every pair, (N,)."""
    return np.array([model.at(float(x)) for x in model.x])


def _course(model: Model, picks: list[int], given: list[int]) -> Course:
    p = probabilities(model)
    labels = (p >= 0.5).astype(np.int64)
    labels[picks] = given
    return Course(tuple(picks), tuple(given), p, labels)
