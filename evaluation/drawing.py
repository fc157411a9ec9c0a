"""The box of a drawing: places in units of its own, so that the page needs no style."""

from collections.abc import Callable, Sequence
from typing import Any

WIDTH, LEFT, RIGHT, TOP = 640, 56, 624, 16

Tick = tuple[float, str]
Place = Callable[[float], float]


def axes(bottom: int) -> tuple[Place, Place]:
    """Where shares (0 to 1) of both axes are in a box whose lower axis is at `bottom`."""

    def x(share: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * share, 1)

    def y(share: float) -> float:
        return round(bottom - (bottom - TOP) * share, 1)

    return x, y


def box(
    *, height: int, bottom: int, across: Sequence[Tick], up: Sequence[Tick], **more: Any
) -> dict[str, Any]:
    """What a template draws: the box, the ticks (place, words) of both axes, and `more`."""
    return {
        "width": WIDTH,
        "height": height,
        "left": LEFT,
        "right": RIGHT,
        "top": TOP,
        "bottom": bottom,
        "across": [{"at": at, "words": words} for at, words in across],
        "up": [{"at": at, "words": words} for at, words in up],
        **more,
    }
