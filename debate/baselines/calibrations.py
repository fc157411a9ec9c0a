"""How sure a model is of each pair, learnt label by label (LARA, docs/protocol.md 2.9).

`OnlineModel` is the public code's calibration, `LogisticModel` refits a logistic regression on all
labels so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]

RATE: Final = 0.01
STRENGTH: Final = 200.0
SCALE: Final = 1000.0
# Refitted at each label up to here, then whenever the labels have grown by a twentieth.
_EACH_UP_TO: Final = 20


class Model(Protocol):
    """A calibration that learns one label at a time: a monotone function of one value a pair."""

    @property
    def x(self) -> Vector:
        """The value of every pair, (N,)."""

    @property
    def direction(self) -> int:
        """1 where p rises with x or is level, -1 where it falls, 0 where it may do both."""

    def at(self, x: float) -> float:
        """The calibrated probability at one value."""

    def learn(self, index: int, label: int) -> None:
        """Take in the label of one pair."""


class OnlineModel:
    """The reference: p = (1 - w) pi + w sigmoid(b0 + b1 pi), one gradient step per label.

    w = (1.2 - Var[Beta(a, b)]) (1 - exp(-S / lambda)). S never grows in the public code, so w
    stays near 0.2 and the calibration can never dominate; it is kept as it is.
    """

    def __init__(
        self, pi: Vector, *, rate: float = RATE, strength: float = STRENGTH, scale: float = SCALE
    ) -> None:
        self.x, self.rate = pi, rate
        self.ramp = 1 - math.exp(-strength / scale)
        self.b0 = self.b1 = 0.0
        self.a = self.b = 1

    @property
    def weight(self) -> float:
        """The share of the calibrated logit in p."""
        total = self.a + self.b
        variance = self.a * self.b / (total**2 * (total + 1))
        return (1.2 - variance) * self.ramp

    @property
    def direction(self) -> int:
        """The slope is at least (1 - w) + w b1 / 4 where b1 is negative."""
        w = self.weight
        return 1 if (1 - w) + w * min(self.b1, 0.0) / 4 >= 0 else 0

    def at(self, x: float) -> float:
        """p at pi = x."""
        w = self.weight
        return (1 - w) * x + w * sigmoid(self.b0 + self.b1 * x)

    def learn(self, index: int, label: int) -> None:
        """One gradient step on this label alone."""
        x = float(self.x[index])
        error = sigmoid(self.b0 + self.b1 * x) - label
        self.b0 -= self.rate * error
        self.b1 -= self.rate * error * x
        self.a += label
        self.b += 1 - label


class LogisticModel:
    """A logistic regression of the label on logit(pi), refitted on all labels so far.

    Two anchors, a certain pi with its label on either side, stand for the model's own word: so
    it can be fitted from the first label on, and labels of one kind alone move it. Beyond
    twenty labels it is refitted only as they grow by a twentieth: a single one hardly moves it
    any more, and a large batch stays quick.
    """

    def __init__(self, pi: Vector) -> None:
        self.x = _logit(pi)
        self.seen: list[int] = []
        self.labels: list[int] = []
        self.slope, self.intercept = 1.0, 0.0  # p = pi before the first label
        self._fitted_at = 0

    @property
    def direction(self) -> int:
        """Which way the fitted line goes."""
        self._catch_up()
        return 1 if self.slope >= 0 else -1

    def at(self, x: float) -> float:
        """p at logit(pi) = x."""
        self._catch_up()
        return sigmoid(self.intercept + self.slope * x)

    def learn(self, index: int, label: int) -> None:
        """Keep the label for the next fit."""
        self.seen.append(index)
        self.labels.append(label)

    def _catch_up(self) -> None:
        count = len(self.seen)
        if count - self._fitted_at > count // _EACH_UP_TO:
            from sklearn.linear_model import LogisticRegression

            known = np.append(self.x[self.seen], _logit(np.array([0.0, 1.0])))
            model = LogisticRegression().fit(known.reshape(-1, 1), [*self.labels, 0, 1])
            self.slope, self.intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
            self._fitted_at = count


MODELS: Final[dict[str, Callable[[Vector], Model]]] = {
    "lara_reference": OnlineModel,
    "lara_logistic": LogisticModel,
}


def _logit(pi: Vector) -> Vector:
    """log(pi / (1 - pi)), with certainty clipped to 0.01 and 0.99."""
    clipped = np.clip(pi, 0.01, 0.99)
    logits: Vector = np.log(clipped / (1 - clipped))
    return logits


def sigmoid(z: float) -> float:
    """1 / (1 + e^-z), without overflow.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
