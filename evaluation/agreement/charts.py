"""Drawings of the agreement page: places in a box, so that the page needs no style."""

from collections.abc import Iterable, Sequence
from typing import Any

from annotate.agreement.slices import Slice
from evaluation.agreement.sheets import NAMES, To

WIDTH, LEFT, RIGHT, ROW, TOP, BOTTOM = 640, 190, 24, 26, 14, 34
CELL, EDGE = 88, 104
MOST_ROWS = 24
# The darkest cell still leaves the number on it readable, in light and in dark.
DARKEST = 0.45


def forest(name: str, slices: Iterable[tuple[str, Slice]]) -> dict[str, Any] | None:
    """The coefficient called `name` with its interval, one line per slice; None without a value."""
    found = [(words, each.coefficient(name)) for words, each in slices][:MOST_ROWS]
    if all(each.value is None for _, each in found):
        return None
    ends = [each.low for _, each in found if each.low is not None]
    values = [each.value for _, each in found if each.value is not None]
    least = -1.0 if min([*ends, *values]) < 0 else 0.0

    def x(value: float | None) -> float | None:
        if value is None:
            return None
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - least) / (1 - least), 1)

    marks = [
        {
            "name": words,
            "y": TOP + ROW * (place + 0.5),
            "x": x(each.value),
            "low": x(each.low),
            "high": x(each.high),
            "words": f"{each.value:.3f}" if each.value is not None else "no number",
        }
        for place, (words, each) in enumerate(found)
    ]
    steps = [least + (1 - least) * part / 4 for part in range(5)]
    bottom = TOP + ROW * len(marks)
    return {
        "title": NAMES[name],
        "marks": marks,
        "ticks": [(x(step), f"{step:.2f}".rstrip("0").rstrip(".")) for step in steps],
        "width": WIDTH,
        "height": bottom + BOTTOM,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "bottom": bottom,
    }


def heat_map(
    table: Sequence[Sequence[float]], names: Sequence[str], to: To
) -> dict[str, Any] | None:
    """How often one label met another; None where none did. Shades are shares of the largest cell.

    `to` links a cell to its items; labels are named there by their place on the scale.
    """
    most = max((cell for row in table for cell in row), default=0)
    if not most:
        return None
    squares = [
        {
            "x": EDGE + CELL * column,
            "y": 30 + CELL * row,
            "shade": round(DARKEST * cell / most, 3),
            "words": f"{cell:.0f}" if float(cell).is_integer() else f"{cell:.1f}",
            "agrees": row == column,
            "url": to(show="met", label=row, other=column) if cell else "",
            "title": f"{names[row]} met {names[column]}",
        }
        for row, cells in enumerate(table)
        for column, cell in enumerate(cells)
    ]
    middle = [CELL * place + CELL // 2 for place in range(len(names))]
    return {
        "squares": squares,
        "heads": [(EDGE + at, name) for at, name in zip(middle, names, strict=True)],
        "rows": [(30 + at, name) for at, name in zip(middle, names, strict=True)],
        "width": EDGE + CELL * len(names) + 4,
        "height": 34 + CELL * len(names),
        "cell": CELL,
        "edge": EDGE,
    }
