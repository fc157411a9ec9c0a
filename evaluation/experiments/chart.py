"""Accuracy against escalation as a drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from evaluation.drawing import Box, Tick, axes
from evaluation.experiments.services import Measured

HEIGHT, BOTTOM = 360, 316


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


@dataclass(frozen=True, kw_only=True)
class Chart(Box):
    """Everything that the template draws."""

    points: list[Point]


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

    place_x, place_y = axes(HEIGHT, BOTTOM)

    def x(value: float | None) -> float:
        return place_x((value or 0) / most)

    def y(value: float | None) -> float:
        return place_y(((value or 0) - least) / (1 - least))

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
        height=HEIGHT,
        bottom=BOTTOM,
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
