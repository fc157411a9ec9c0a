"""Accuracy against escalation as a drawing."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from evaluation.drawing import axes, box
from evaluation.experiments.services import Measured

HEIGHT, BOTTOM = 360, 316


def chart(measures: Sequence[Measured]) -> dict[str, Any] | None:
    """Runs whose accuracy and escalation are both defined, numbered as in the table, with both
    intervals as ends of lines; None where there is none."""
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

    place_x, place_y = axes(BOTTOM)

    def x(value: float | None) -> float:
        return place_x((value or 0) / most)

    def y(value: float | None) -> float:
        return place_y(((value or 0) - least) / (1 - least))

    points = [
        {
            "number": number,
            "name": name,
            "x": x(escalation.value),
            "x_low": x(escalation.low),
            "x_high": x(escalation.high),
            "y": y(balanced.value),
            "y_low": y(balanced.low),
            "y_high": y(balanced.high),
        }
        for number, name, escalation, balanced in shown
    ]
    across = [most * part / 5 for part in range(6)]
    up = [least + (1 - least) * part / 5 for part in range(6)]
    return box(
        height=HEIGHT,
        bottom=BOTTOM,
        across=[(x(value), f"{100 * value:.3g} %") for value in across],
        up=[(y(value), f"{100 * value:.3g} %") for value in up],
        points=points,
    )


def _upwards(value: float) -> float:
    """The next five hundredths: the right end of the drawing."""
    return min(1.0, max(0.05, ceil(round(value * 20, 6)) / 20))


def _downwards(value: float) -> float:
    """The tenth below: the lower end of the drawing, never the top."""
    return min(0.9, int(round(value * 10, 6)) / 10)
