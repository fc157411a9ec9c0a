"""Accuracy against escalation as a drawing: places in a box, so that the page needs no style."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from evaluation.experiments.services import Measured

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 44


@dataclass(frozen=True)
class Point:
    """A run: its number in the table, its place, and both intervals as ends of lines."""

    number: int
    name: str
    x: float
    y: float
    x_low: float
    x_high: float
    y_low: float
    y_high: float


@dataclass(frozen=True)
class Tick:
    """A line of the grid and what is written at its end."""

    at: float
    words: str


@dataclass(frozen=True)
class Chart:
    """Everything that the template draws, in units of the box."""

    points: list[Point]
    across: list[Tick]
    up: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def chart(measures: Sequence[Measured]) -> Chart | None:
    """Runs whose accuracy and escalation are both defined; None where there is none."""
    shown = [
        (number, each.run.name, each.found.escalation, balanced)
        for number, each in enumerate(measures, 1)
        if (balanced := each.found.labelled.balanced).value is not None
        and each.found.escalation.value is not None
    ]
    if not shown:
        return None
    most = _upwards(max(escalation.high or 0 for _, _, escalation, _ in shown))
    least = _downwards(min(balanced.low or 0 for _, _, _, balanced in shown))

    def x(value: float | None) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value or 0) / most, 1)

    def y(value: float | None) -> float:
        up = ((value or 0) - least) / (1 - least)
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up, 1)

    points = [
        Point(
            number,
            name,
            x=x(escalation.value),
            y=y(balanced.value),
            x_low=x(escalation.low),
            x_high=x(escalation.high),
            y_low=y(balanced.low),
            y_high=y(balanced.high),
        )
        for number, name, escalation, balanced in shown
    ]
    fifths = [place / 5 for place in range(6)]
    return Chart(
        points=points,
        across=[Tick(x(most * part), f"{100 * most * part:.3g} %") for part in fifths],
        up=[
            Tick(y(least + (1 - least) * part), f"{100 * (least + (1 - least) * part):.3g} %")
            for part in fifths
        ],
    )


def _upwards(value: float) -> float:
    """The next five hundredths: the right end of the drawing."""
    return min(1.0, max(0.05, ceil(round(value * 20, 6)) / 20))


def _downwards(value: float) -> float:
    """The tenth below: the lower end of the drawing, never the top."""
    return min(0.9, int(round(value * 10, 6)) / 10)
