"""The box of a drawing: places in units of its own, so that the page needs no style."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A line of the grid and what is written at its end."""

    at: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Box:
    """Its size, and where the axes are; `across` and `up` are the ticks of both."""

    height: int
    bottom: int
    across: list[Tick]
    up: list[Tick]
    width: int = 640
    left: int = 56
    right: int = 624
    top: int = 16


def axes(height: int, bottom: int) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Where shares (0 to 1) of both axes are in a box of this height."""

    def x(share: float) -> float:
        return round(Box.left + (Box.right - Box.left) * share, 1)

    def y(share: float) -> float:
        return round(bottom - (bottom - Box.top) * share, 1)

    return x, y
