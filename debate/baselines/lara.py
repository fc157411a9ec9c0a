"""LARA: people label the pairs that a calibrated model is least sure of (docs/protocol.md 2.9).

The trajectory over a batch is a generator: it yields the indices of
the pairs that people shall label next, is sent their labels, and returns what came of it. So a
simulation over known labels and a live run are one code; a live run, which takes days, starts it
again with the labels it has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .calibrations import Model, Vector

BUDGETS: Final = (0.035, 0.125, 0.25, 0.5)


@dataclass(frozen=True)
class Trajectory:
    """The picked indices in their order, each with the label people gave, and what followed.

    `probabilities` are the calibrated ones at the end (N,), `labels` the final labels (N,):
    people's where they were asked, else 1 from 0.5 on.
    """

    picks: tuple[int, ...]
    given: tuple[int, ...]
    probabilities: Vector
    labels: NDArray[np.int64]


Labelling: TypeAlias = Generator[int, int, Trajectory]
Batches: TypeAlias = Generator[tuple[int, ...], Sequence[int], Trajectory]


def label_batch(model: Model, budget: int, *, groups: Sequence[Sequence[int]] = ()) -> Labelling:
    """Ask for `budget` labels, the least certain pair first; ties go to the first index.

    A budget of all but one, or more, asks for every label. With `groups` (lists of indices, as
    `balanced_groups` makes them) they take turns, each with its share of the budget.
    """
    batches = label_batches(model, budget, 1, groups=groups)
    try:
        (pick,) = next(batches)
        while True:
            (pick,) = batches.send(((yield pick),))
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory


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
    trajectory goes on behind them as if it had never stopped.
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
    return _trajectory(model, picks, given)


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


def simulate(labelling: Labelling, truth: Sequence[int]) -> Trajectory:
    """Drive a labelling to its end with labels that are known already."""
    try:
        pick = next(labelling)
        while True:
            pick = labelling.send(int(truth[pick]))
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory


def probabilities(model: Model) -> Vector:
    """The calibrated probability of every pair, (N,)."""
    return np.array([model.at(float(x)) for x in model.x])


def _trajectory(model: Model, picks: list[int], given: list[int]) -> Trajectory:
    p = probabilities(model)
    labels = (p >= 0.5).astype(np.int64)
    labels[picks] = given
    return Trajectory(tuple(picks), tuple(given), p, labels)


def balanced_groups(topics: Sequence[Hashable], count: int, *, seed: int = 0) -> list[list[int]]:
    """Indices of the pairs in `count` groups of whole topics, about equal in pairs.

    Topics come in an order shuffled by `seed`, each to the group that is smallest then. There
    are never more groups than topics.
    """
    members: dict[Hashable, list[int]] = {}
    for index, topic in enumerate(topics):
        members.setdefault(topic, []).append(index)
    groups: list[list[int]] = [[] for _ in range(max(1, min(count, len(members))))]
    names = list(members)
    for place in np.random.default_rng(seed).permutation(len(names)):
        smallest = min(groups, key=len)
        smallest += members[names[place]]
    return [sorted(group) for group in groups]


class Waiting:
    """The pairs that nobody has labelled yet, and the least certain of them quickly.

    Indices by value: different values in order, under each its indices, the first first. A
    calibration is a monotone function, so the pair whose probability is nearest to one half
    stands where the function crosses it: a search among sorted values, not a look at all.
    """

    def __init__(self, x: Vector, members: Sequence[int]) -> None:
        self._at: dict[float, deque[int]] = {}
        for index in members:
            self._at.setdefault(float(x[index]), deque()).append(index)
        self._values = sorted(self._at)

    def take(self, model: Model) -> int:
        """Take out the index with the least |p - 0.5|, of equals the first.

        Raises IndexError where none is left.
        """

        def distance(place: int) -> float:
            return abs(model.at(self._values[place]) - 0.5)

        places = self._nearest(model, distance)
        place = min(places, key=lambda each: self._at[self._values[each]][0])
        value = self._values[place]
        index = self._at[value].popleft()
        if not self._at[value]:
            del self._at[value], self._values[place]
        return index

    def _nearest(self, model: Model, distance: Callable[[int], float]) -> list[int]:
        """The places of the values whose distance is least."""
        if not self._values:
            raise IndexError("Every pair has its label.")
        if not model.direction:
            distances = [distance(place) for place in range(len(self._values))]
            return [place for place, each in enumerate(distances) if each == min(distances)]
        # The first place from which p is at least 0.5, or at most where p falls.
        sign = model.direction
        right = bisect_left(self._values, sign * 0.5, key=lambda value: sign * model.at(value))
        nearest = [place for place in (right - 1, right) if 0 <= place < len(self._values)]
        least = min(map(distance, nearest))
        found = []
        for place, step in ((right - 1, -1), (right, 1)):
            while 0 <= place < len(self._values) and distance(place) == least:
                found.append(place)
                place += step
        return found
