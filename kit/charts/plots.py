"""The kinds of pictures: each takes numbers and gives a drawing, None where nothing is to see."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from kit.charts.drawing import LEFT, RIGHT, TOP, WIDTH, Axis, Drawing, Words, apart, axis, short
from kit.lists.report_tables import HasInterval

ROW, MAX_ROWS = 26, 24
# The darkest cell still leaves the number on it readable, in light and in dark.
DARKEST = 0.45


def percents(value: float) -> str:
    """A share as an axis says it."""
    return f"{100 * value:.3g} %"


def points(value: float) -> str:
    """A measure in points of 100, as an axis says it."""
    return f"{100 * value:.3g}"


def decimals(value: float) -> str:
    """A measure in points of 100, as tables print it."""
    return f"{100 * value:.1f}"


def _left_out(rows: Sequence[object]) -> str:
    """What is said where only the first rows are drawn."""
    return f" The first {MAX_ROWS} of {len(rows):,}." if len(rows) > MAX_ROWS else ""


def forest(name: str, title: str, found: Sequence[tuple[str, HasInterval]]) -> Drawing | None:
    """Values with their intervals, one line each by name."""
    cut, found = _left_out(found), found[:MAX_ROWS]
    values = [each.value for _, each in found if each.value is not None]
    if not values:
        return None
    ends = [each.low for _, each in found if each.low is not None]
    least, left, bottom = (-1.0 if min([*ends, *values]) < 0 else 0.0), 140, 14 + ROW * len(found)
    across = axis("", (least, 1.0), left, RIGHT, count=4)
    words = f"Lines are 95 % intervals; the tables hold the same numbers.{cut}"
    drawing = Drawing(name, title, words, bottom + 26)
    for step in across.steps:
        drawing.line("rule", across(step), 14, across(step), bottom)
        drawing.text("tick", across(step), bottom + 18, across.words(step), at="middle")
    for place, (line, each) in enumerate(found):
        y = 14 + ROW * (place + 0.5)
        drawing.text("tick", left - 10, y + 4, short(line, left - 10), at="end")
        if each.value is None:
            drawing.text("tick", left + 6, y + 4, "no number")
            continue
        if each.low is not None and each.high is not None:
            drawing.line("whisker", across(each.low), y, across(each.high), y)
        drawing.dot("dot", across(each.value), y, 5, f"{line}: {each.value:.3f}")
    return drawing


@dataclass(frozen=True)
class Square:
    """One cell of a heat map; `css` says of which kind it is, `name` what its link is called."""

    value: float | None
    words: str
    css: str = "agrees"
    url: str = ""
    name: str = ""


def heat_map(
    name: str,
    title: str,
    rows: Sequence[str],
    heads: Sequence[str],
    cells: Sequence[Sequence[Square]],
    *,
    note: str = "",
) -> Drawing | None:
    """Numbers by row and column, on shades that are shares of the largest."""
    cut, rows, cells = _left_out(rows), rows[:MAX_ROWS], cells[:MAX_ROWS]
    most = max((each.value or 0 for row in cells for each in row), default=0)
    if not most:
        return None
    edge = 118
    wide = min(88.0, max(46.0, (WIDTH - edge - 4) / len(heads)))
    high = 64.0 if wide > 70 and len(rows) < 5 else 34.0
    # Heads that are longer than their column lean.
    leans = any(len(head) * 6.6 > wide for head in heads)
    top = 92 if leans else 28
    width = edge + wide * len(heads) + (60 if leans else 4)
    words = "A table by row and column: the stronger a cell, the larger its number."
    height = top + high * len(rows) + 4
    said = f"{note or words}{cut}"
    drawing = Drawing(name, title, f"{words}{cut}", height, note=said, width=max(WIDTH, width))
    for place, head in enumerate(heads):
        x = edge + wide * (place + 0.5)
        told = drawing.text(
            "tick", 0 if leans else x, 0 if leans else top - 8, short(head, 120 if leans else wide),
            at="start" if leans else "middle",
        )  # fmt: skip
        if leans:
            told.set("transform", f"translate({x:.1f} {top - 6}) rotate(-45)")
    for row, (line, squares) in enumerate(zip(rows, cells, strict=True)):
        y = top + high * row
        drawing.text("tick", edge - 8, y + high / 2 + 4, short(line, edge - 8), at="end")
        for column, each in enumerate(squares):
            x = edge + wide * column
            hint = f"{line}, {heads[column]}: {each.words}"
            drawn = drawing.box(each.css, x, y, wide - 2, high - 2, hint)
            drawn.set("fill-opacity", f"{DARKEST * (each.value or 0) / most:.3f}")
            drawing.text(
                "number", x + wide / 2 - 1, y + high / 2 + 4, each.words,
                at="middle", url=each.url, name=each.name,
            )  # fmt: skip
    return drawing


def crosses(
    name: str,
    title: str,
    across: tuple[str, Words],
    up: tuple[str, Words],
    found: Sequence[tuple[str, str, HasInterval, HasInterval]],
    *,
    limits: tuple[float, float] | None = None,
    diagonal: bool = False,
) -> Drawing | None:
    """One value against another, both with intervals: (mark, name, across, up) of each.

    The axis across begins at 0, the one upright stays within `limits`. Those without both values
    are left out. With a `diagonal`, on which both are the same, both axes span the limits.
    """
    shown = [row for row in found if row[2].value is not None and row[3].value is not None]
    if not shown:
        return None
    bottom, whole = 276, [*limits] if diagonal and limits else []
    xs = [*whole, *_ends(row[2] for row in shown)]
    ys = [*whole, *_ends(row[3] for row in shown)]
    x_axis = axis(across[0], xs, LEFT, RIGHT, words=across[1], zero=True)
    y_axis = axis(up[0], ys, bottom, TOP, words=up[1], limits=limits)
    words = "Points are numbered as the rows of the table, which holds the same numbers."
    drawing = Drawing(name, title, words, bottom + 42)
    drawing.frame(x_axis, y_axis)
    if diagonal:
        low, high = max(x_axis.low, y_axis.low), min(x_axis.high, y_axis.high)
        drawing.line("even", x_axis(low), y_axis(low), x_axis(high), y_axis(high))
    for _, _, one, other in shown:
        x, y = x_axis(one.value or 0), y_axis(other.value or 0)
        if one.low is not None and one.high is not None:
            drawing.line("whisker", x_axis(one.low), y, x_axis(one.high), y)
        if other.low is not None and other.high is not None:
            drawing.line("whisker", x, y_axis(other.low), x, y_axis(other.high))
    # Points at one place: the first is seen, the others are named beside it.
    places: dict[tuple[int, int], list[str]] = {}
    for mark, told, one, other in shown:
        x, y = x_axis(one.value or 0), y_axis(other.value or 0)
        marks = places.setdefault((round(x), round(y)), [])
        marks.append(mark)
        if len(marks) == 1:
            drawing.dot("dot", x, y, 9, told)
            drawing.text("number", x, y + 4, mark, at="middle")
    for (x, y), marks in places.items():
        if len(marks) > 1:
            drawing.text("number", x + 13, y - 7, f"and {', '.join(marks[1:])}")
    return drawing


def _ends(found: Iterable[HasInterval]) -> list[float]:
    return [end for each in found for end in (each.value, each.low, each.high) if end is not None]


def scatter(
    name: str,
    title: str,
    across: str,
    up: str,
    found: Sequence[tuple[str, float, float]],
    *,
    words: Words = points,
) -> Drawing | None:
    """(name, across, up) of many on one scale; on the diagonal both are the same."""
    if not found:
        return None
    values = [value for _, *pair in found for value in pair]
    bottom = TOP + RIGHT - LEFT
    x_axis = axis(across, values, LEFT, RIGHT, words=words, zero=True)
    y_axis = axis(up, values, bottom, TOP, words=words, zero=True)
    above = sum(other > one for _, one, other in found)
    below = sum(other < one for _, one, other in found)
    told = (
        f"One point for each of {len(found)}: {above} above the diagonal, where {up} is higher, "
        f"{below} below it, {len(found) - above - below} on it. The table holds the same numbers."
    )
    drawing = Drawing(name, title, told, bottom + 42)
    drawing.frame(x_axis, y_axis)
    low, high = x_axis.low, x_axis.high
    drawing.line("even", x_axis(low), y_axis(low), x_axis(high), y_axis(high))
    for each, one, other in found:
        css = "up" if other > one else "down" if other < one else "off"
        hint = f"{each}: {words(one)} and {words(other)}"
        drawing.dot(f"speck {css}", x_axis(one), y_axis(other), 3.5, hint)
    return drawing


@dataclass(frozen=True)
class Slope:
    """One line of a slope chart: values and ranks on both sides."""

    name: str
    before: float
    after: float
    rank_before: int
    rank_after: int


def slopes(
    name: str,
    title: str,
    heads: tuple[str, str],
    found: Sequence[Slope],
    *,
    words: Words = decimals,
) -> Drawing | None:
    """What became of each: values before and after joined by a line, ranks beside them."""
    cut, found = _left_out(found), found[:MAX_ROWS]
    if not found:
        return None
    top, left, right = 30.0, 158.0, 262.0
    bottom = top + max(180.0, 17.0 * len(found))
    values = [value for each in found for value in (each.before, each.after)]
    low, high = min(values), max(values)
    scale = Axis("", low, high if high > low else low + 1, bottom, top, (), words)
    told = "; ".join(f"{each.name} {_moved(each)}" for each in found)
    note = f"Rank and value on both sides; ▲ rises, ▼ falls, = keeps its rank.{cut}"
    drawing = Drawing(name, title, f"Ranks: {told}.", bottom + 14, note=note)
    for x, head, at in ((left, heads[0], "end"), (right, heads[1], "start")):
        drawing.text("axis", x, 14, short(head, left), at=at)
        drawing.line("rule", x, top - 8, x, bottom + 8)
    sides = [
        apart([scale(value) for value in side], 15, top, bottom)
        for side in ([each.before for each in found], [each.after for each in found])
    ]
    for each, one, other in zip(found, *sides, strict=True):
        css, sign = _direction(each)
        ends = (left, scale(each.before)), (right, scale(each.after))
        drawing.line(f"slope {css}", *ends[0], *ends[1])
        for x, y in ends:
            drawing.dot(f"speck {css}", x, y, 3.5, f"{each.name} {_moved(each)}")
        before, after = f" {words(each.before)}", f"{words(each.after)} "
        room = left - 12 - 6.6 * (len(before) + 5)
        label = short(each.name, room)
        drawing.text(
            f"tick {css}", left - 8, one + 4, f"{each.rank_before} {label}{before}", at="end"
        )
        drawing.text(
            f"tick {css}", right + 8, other + 4, f"{each.rank_after} {sign} {after}{label}"
        )
    return drawing


def _direction(each: Slope) -> tuple[str, str]:
    if each.rank_after == each.rank_before:
        return "off", "="
    return ("up", "▲") if each.rank_after < each.rank_before else ("down", "▼")


def _moved(each: Slope) -> str:
    if each.rank_after == each.rank_before:
        return f"stays {each.rank_after}"
    verb = "rises" if each.rank_after < each.rank_before else "falls"
    return f"{verb} from {each.rank_before} to {each.rank_after}"


def growth(
    name: str, title: str, across: str, up: str, orders: Sequence[Sequence[int]]
) -> Drawing | None:
    """What the first 1, 2, ... of each order reach, and their mean."""
    if not max((max(order, default=0) for order in orders), default=0):
        return None
    size, bottom = len(orders[0]), 236
    x_axis = axis(across, range(1, size + 1), LEFT, RIGHT, whole=True, zero=True)
    reached = [value for order in orders for value in order]
    y_axis = axis(up, reached, bottom, TOP, whole=True, zero=True)
    words = "Thin lines are single orders, the thick one is their mean, as in the table."
    drawing = Drawing(name, title, words, bottom + 42)
    drawing.frame(x_axis, y_axis)
    mean = [sum(each) / len(orders) for each in zip(*orders, strict=True)]
    for css, line in [*(("order", order) for order in orders), ("mean", mean)]:
        places = [(x_axis(m), y_axis(value)) for m, value in enumerate(line, 1)]
        drawing.path(css, places)
        if size == 1:
            drawing.dot("speck", *places[0], 3.5)
    return drawing


def courses(
    name: str,
    title: str,
    heads: Sequence[str],
    found: Sequence[tuple[str, Sequence[float | None]]],
    *,
    across: str,
) -> Drawing | None:
    """How several measures from 0 to 1 go from step to step; each line is named at its end."""
    known = [(line, values) for line, values in found if any(v is not None for v in values)]
    if not known or not heads:
        return None
    bottom, right = 250.0, 290.0
    x_axis = Axis(across, 1, max(2, len(heads)), LEFT, right, (), "{:g}".format)
    values = [value for _, line in known for value in line if value is not None]
    y_axis = axis("", [*values, 1.0], bottom, TOP, zero=True)
    words = "Lines are measures, from the step on at which they can be had; the table has them."
    drawing = Drawing(name, title, words, bottom + 42)
    drawing.frame(x_axis, y_axis)
    for place, head in enumerate(heads, 1):
        drawing.text("tick", x_axis(place), bottom + 18, head, at="middle")
    ends = []
    for line, course in known:
        places = [
            (x_axis(place), y_axis(value), value)
            for place, value in enumerate(course, 1)
            if value is not None
        ]
        drawing.path("mean", [(x, y) for x, y, _ in places])
        for x, y, value in places:
            drawing.dot("speck", x, y, 3.5, f"{line}: {value:.3f}")
        ends.append((places[-1][1], line))
    ends.sort()
    for y, (_, line) in zip(apart([y for y, _ in ends], 14, TOP, bottom), ends, strict=True):
        drawing.text("tick", right + 10, y + 4, short(line, WIDTH - right - 12))
    return drawing


def histograms(name: str, title: str, shares: Sequence[tuple[str, float, float]]) -> Drawing | None:
    """Two histograms as pairs of bars: (bin, share before, share after)."""
    if not shares:
        return None
    bottom = 196
    up = axis("share", [each for _, *pair in shares for each in pair], bottom, TOP, words=percents,
              zero=True)  # fmt: skip
    step = (RIGHT - LEFT) / len(shares)
    words = "Outlined bars are before, filled ones after; a table holds the same numbers."
    drawing = Drawing(name, title, words, bottom + 74)
    drawing.frame(Axis("", 0, 1, LEFT, RIGHT, (), str), up)
    every = max(1, -(-len(shares) // 14))
    for number, (told, before, after) in enumerate(shares):
        left = LEFT + number * step
        for css, place, value in (("before", 0.08, before), ("after", 0.52, after)):
            y, hint = up(value), f"{told}: {value:.1%} {css}"
            drawing.box(f"bar-{css}", left + step * place, y, step * 0.4, bottom - y, hint)
        if number % every == 0:
            label = drawing.text("tick", 0, 0, told, at="end")
            label.set("transform", f"translate({left + step / 2:.1f} {bottom + 14}) rotate(-40)")
    return drawing


def burn_down(
    name: str,
    title: str,
    what: str,
    left: Sequence[tuple[date, int]],
    ends: tuple[int, int, int] | None,
) -> Drawing | None:
    """What was left at the end of each day, and the days (early, middle, late) until nothing is.

    A forecast that reaches far beyond what was looked back on is cut off at three times of it.
    """
    if len(left) < 2:
        return None
    first, today = left[0][0], left[-1][0]
    past, rest, bottom = (today - first).days, left[-1][1], 216
    ahead = min(ends[2], max(28, 3 * past)) if ends and rest else 0
    across = _days(first, past + ahead)
    up = axis(f"{what} left", [n for _, n in left], bottom, TOP, words="{:,.0f}".format,
              whole=True, zero=True)  # fmt: skip
    words = f"{left[0][1]} left on {first:%d %b %Y}, {rest} on {today:%d %b %Y}"
    if ends and rest:
        low, middle, high = (today + timedelta(days=each) for each in ends)
        words += f"; none on about {middle:%d %b %Y}, between {low:%d %b %Y} and {high:%d %b %Y}"
    note = "What was left at the end of each day; dashed the forecast, within its interval."
    drawing = Drawing(name, title, f"{words}.", bottom + 42, note=note)
    drawing.frame(across, up)
    if ends and rest:
        early, likely, late = (_falls(rest, each, ahead, past) for each in ends)
        here = (across(past), up(rest))
        fan = [(across(x), up(y)) for x, y in (*early, *reversed(late))]
        drawing.path("fan", [here, *fan], closed=True)
        drawing.path("ahead", [here, *((across(x), up(y)) for x, y in likely[:1])])
        drawing.line("now", here[0], TOP, here[0], bottom)
    drawing.path("mean", [(across((day - first).days), up(n)) for day, n in left])
    return drawing


def _days(first: date, length: int) -> Axis:
    step = next(each for each in (1, 2, 7, 14, 28, 91, 182, 365, 730, 3650) if length / each <= 5)

    def words(value: float) -> str:
        day = first + timedelta(days=round(value))
        return f"{day:%b %Y}" if step > 90 else f"{day.day} {day:%b}"

    return Axis("day", 0, length, LEFT, RIGHT - 10, range(0, length + 1, step), words)


def _falls(rest: int, days: int, ahead: int, past: int) -> list[tuple[float, float]]:
    """Where a straight way down to nothing leads within the days that are drawn."""
    if days <= ahead:
        return [(past + days, 0.0), (past + ahead, 0.0)]
    return [(past + ahead, rest * (1 - ahead / days))]
