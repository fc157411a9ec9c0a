"""Every drawing of this room: places in a box of its own units, so that a page needs no style."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Any

from kit.lists.report_tables import HasInterval
from kit.stats.results import Estimate

WIDTH, LEFT, RIGHT, TOP = 640, 56, 624, 16
# A forest plot: where its lines begin and end, how far one is from the next.
NAMES_END, LINES_END, ROW, ABOVE, BELOW, MAX_ROWS = 190, 616, 26, 14, 34, 24
# A heat map: the side of a cell, and what the names take on the left and above.
CELL, EDGE, HEAD = 88, 104, 30
# The darkest cell still leaves the number on it readable, in light and in dark.
DARKEST = 0.45


def _x(share: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _y(bottom: int, share: float) -> float:
    return round(bottom - (bottom - TOP) * share, 1)


def _box(
    bottom: int, across: Iterable[tuple[float, str]], up: Iterable[tuple[float, str]], **more: Any
) -> dict[str, Any]:
    """A box whose lower axis is at `bottom`, with the ticks (place, words) of both axes."""
    return {
        "width": WIDTH,
        "left": LEFT,
        "right": RIGHT,
        "top": TOP,
        "bottom": bottom,
        "across": [{"at": at, "words": words} for at, words in across],
        "up": [{"at": at, "words": words} for at, words in up],
        **more,
    }


def forest(title: str, found: Sequence[tuple[str, Estimate]]) -> dict[str, Any] | None:
    """Estimates with their intervals, one line each by name; None without a value."""
    found = found[:MAX_ROWS]
    values = [each.value for _, each in found if each.value is not None]
    if not values:
        return None
    ends = [each.low for _, each in found if each.low is not None]
    least = -1.0 if min([*ends, *values]) < 0 else 0.0

    def x(value: float | None) -> float | None:
        if value is None:
            return None
        return round(NAMES_END + (LINES_END - NAMES_END) * (value - least) / (1 - least), 1)

    marks = [
        {
            "name": name,
            "y": ABOVE + ROW * (place + 0.5),
            "x": x(each.value),
            "low": x(each.low),
            "high": x(each.high),
            "words": f"{each.value:.3f}" if each.value is not None else "no number",
        }
        for place, (name, each) in enumerate(found)
    ]
    steps = [least + (1 - least) * part / 4 for part in range(5)]
    bottom = ABOVE + ROW * len(marks)
    return {
        "title": title,
        "marks": marks,
        "ticks": [(x(step), f"{step:.2f}".rstrip("0").rstrip(".")) for step in steps],
        "width": WIDTH,
        "height": bottom + BELOW,
        "left": NAMES_END,
        "right": LINES_END,
        "top": ABOVE,
        "bottom": bottom,
    }


def heat_map(
    table: Sequence[Sequence[float]], names: Sequence[str], to: Callable[..., str]
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
            "y": HEAD + CELL * row,
            "shade": round(DARKEST * cell / most, 3),
            "words": f"{cell:.0f}" if float(cell).is_integer() else f"{cell:.1f}",
            "agrees": row == column,
            "url": to(show="met", label=row, other=column) if cell else "",
            "title": f"{names[row]} met {names[column]}",
        }
        for row, cells in enumerate(table)
        for column, cell in enumerate(cells)
    ]
    middle = [(CELL * place + CELL // 2, name) for place, name in enumerate(names)]
    size = CELL * len(names) + 4
    return {
        "squares": squares,
        "heads": [(EDGE + at, name) for at, name in middle],
        "rows": [(HEAD + at, name) for at, name in middle],
        "width": EDGE + size,
        "height": HEAD + size,
        "cell": CELL,
        "edge": EDGE,
    }


def accuracy(found: Sequence[tuple[int, str, HasInterval, HasInterval]]) -> dict[str, Any] | None:
    """Balanced accuracy against escalation, both with intervals: (number, name, escalation,
    accuracy) of each run. Those without both are left out; None where there is none."""
    shown = [row for row in found if row[2].value is not None and row[3].value is not None]
    if not shown:
        return None
    bottom = 316
    # To the next five hundredths, and down to the tenth below: never the whole axis away.
    most = max(row[2].high or 0 for row in shown)
    most = min(1.0, max(0.05, ceil(round(most * 20, 6)) / 20))
    least = min(0.9, int(round(min(row[3].low or 0 for row in shown) * 10, 6)) / 10)

    def x(value: float | None) -> float:
        return _x((value or 0) / most)

    def y(value: float | None) -> float:
        return _y(bottom, ((value or 0) - least) / (1 - least))

    points = [
        {
            "number": number,
            "name": name,
            "x": x(across.value),
            "x_low": x(across.low),
            "x_high": x(across.high),
            "y": y(up.value),
            "y_low": y(up.low),
            "y_high": y(up.high),
        }
        for number, name, across, up in shown
    ]
    ticks = [most * part / 5 for part in range(6)]
    steps = [least + (1 - least) * part / 5 for part in range(6)]
    return _box(
        bottom,
        [(x(value), f"{100 * value:.3g} %") for value in ticks],
        [(y(value), f"{100 * value:.3g} %") for value in steps],
        height=360,
        points=points,
    )


def curves(orders: Sequence[Sequence[int]]) -> dict[str, Any] | None:
    """What the first 1, 2, ... of each order reach, and their mean; None where nothing is."""
    most = max((max(order, default=0) for order in orders), default=0)
    if not most:
        return None
    size, bottom = len(orders[0]), 260
    last = max(1, size - 1)

    def line(values: Sequence[float]) -> dict[str, str]:
        points = (
            f"{_x(m / last):.1f},{_y(bottom, value / most):.1f}" for m, value in enumerate(values)
        )
        return {"points": " ".join(points)}

    return _box(
        bottom,
        [(_x(m / last), str(m + 1)) for m in range(0, size, max(1, -(-size // 10)))],
        [(_y(bottom, part / 4), f"{most * part / 4:g}") for part in range(5)],
        height=300,
        orders=[line(order) for order in orders],
        mean=line([sum(reached) / len(orders) for reached in zip(*orders, strict=True)]),
    )
