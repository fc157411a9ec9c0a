"""SVG drawn in units of its own, so that a page needs no style: marks, axes, whole ticks.

Every picture has a title and a description for those who do not see it, and stands beside the table
of its numbers (templates/kit/chart.html). Colours come from static/css/tables.css; nothing is told
apart by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring  # nosec B405: written, not read

from django.utils.safestring import SafeString, mark_safe

# As wide as a phone shows without making words small; a desk shows the same, larger.
WIDTH = 420
LEFT, RIGHT, TOP = 46, 404, 26
Words: TypeAlias = Callable[[float], str]
# What room a letter takes.
LETTER = 6.6


class Drawing:
    """One picture. `str` gives its markup, for a template to print."""

    def __init__(
        self, name: str, title: str, words: str, height: float, *, note: str = "",
        width: float = WIDTH,
    ) -> None:  # fmt: skip
        # `words` tell what is to be seen, `note` (else the words) stands above it for all.
        self.title, self.note = title, note or words
        self._root = Element(
            "svg",
            {
                "class": "chart",
                "viewBox": f"0 0 {_number(width)} {_number(height)}",
                "role": "img",
                "aria-labelledby": f"chart-{name} chart-{name}-words",
            },
        )
        for tag, place, inside in (("title", "", title), ("desc", "-words", words)):
            SubElement(self._root, tag, {"id": f"chart-{name}{place}"}).text = inside

    def __str__(self) -> SafeString:
        return markup(self._root)

    def line(self, css: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """A straight line."""
        self._mark("line", css, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(
        self, css: str, points: Iterable[tuple[float, float]], *, closed: bool = False
    ) -> None:
        """A line through many points, or what it encloses."""
        places = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        SubElement(
            self._root, "polygon" if closed else "polyline", {"class": css, "points": places}
        )

    def dot(self, css: str, x: float, y: float, r: float, hint: str = "") -> None:
        """A round mark, which says `hint` to the mouse."""
        _hint(self._mark("circle", css, cx=x, cy=y, r=r), hint)

    def box(
        self, css: str, x: float, y: float, width: float, height: float, hint: str = ""
    ) -> Element:
        """A rectangle."""
        found = self._mark("rect", css, x=x, y=y, width=width, height=height)
        _hint(found, hint)
        return found

    def text(
        self, css: str, x: float, y: float, words: str, *, at: str = "start", url: str = "",
        name: str = "",
    ) -> Element:  # fmt: skip
        """Words that begin, end or have their middle there; with `url` a link called `name`."""
        parent = self._root
        if url:
            # What is inside an image is not reached by keys: with links it is a group.
            self._root.set("role", "group")
            parent = SubElement(parent, "a", {"href": url, "aria-label": name})
        found = SubElement(
            parent, "text", {"class": css, "x": _number(x), "y": _number(y), "text-anchor": at}
        )
        found.text = words
        return found

    def _mark(self, tag: str, css: str, **places: float) -> Element:
        found = {name: _number(value) for name, value in places.items()}
        return SubElement(self._root, tag, {"class": css, **found})

    def frame(self, across: Axis, up: Axis) -> None:
        """Ticks and names of two axes: the upright one is named above it, the other below."""
        for step in up.steps:
            y = up(step)
            self.line("rule", across.start, y, across.end, y)
            self.text("tick", across.start - 6, y + 4, up.words(step), at="end")
        for step in across.steps:
            x = across(step)
            self.line("rule", x, up.start, x, up.start + 4)
            self.text("tick", x, up.start + 18, across.words(step), at="middle")
        if up.name:
            self.text("axis", 2, up.end - 12, f"↑ {up.name}")
        if across.name:
            self.text("axis", across.end, up.start + 36, f"{across.name} →", at="end")


@dataclass(frozen=True)
class Axis:
    """Where values stand between two places of a drawing, and which of them are named."""

    name: str
    low: float
    high: float
    start: float
    end: float
    steps: Sequence[float]
    words: Words

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share


def axis(
    name: str,
    values: Iterable[float],
    start: float,
    end: float,
    *,
    words: Words = "{:g}".format,
    whole: bool = False,
    zero: bool = False,
    limits: tuple[float, float] | None = None,
    count: int = 5,
) -> Axis:
    """An axis that begins and ends at ticks and holds all values.

    With `whole` between ticks of whole numbers only, with `zero` from 0 on; `limits` it never
    passes.
    """
    known = [*values, *([0.0] if zero else [])]
    low, high = min(known, default=0.0), max(known, default=1.0)
    step = tick_step(high - low, count, whole=whole)
    low, high = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
    if low == high:
        high = low + step
    if limits:
        low, high = max(low, limits[0]), min(high, limits[1])
        if low >= high:
            low = max(limits[0], high - step)
    first = ceil(low / step - 1e-9)
    steps = [round(place * step, 10) for place in range(first, floor(high / step + 1e-9) + 1)]
    return Axis(name, low, high, start, end, steps, words)


def tick_step(span: float, count: int, *, whole: bool = False) -> float:
    """The least of 1, 2 and 5 times a power of ten that parts `span` into at most `count`."""
    least = span / count if span > 0 else (1.0 if whole else 0.1)
    power = 10.0 ** floor(log10(least))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least * (1 - 1e-9))
    return max(1.0, step) if whole else step


def apart(places: Sequence[float], gap: float, least: float, most: float) -> list[float]:
    """The places moved as little as keeps words `gap` apart between two ends, order kept."""
    order = sorted(range(len(places)), key=lambda each: places[each])
    found = list(places)
    below = least
    for each in order:
        found[each] = below = max(found[each], below)
        below += gap
    above = most
    for each in reversed(order):
        found[each] = above = min(found[each], above)
        above -= gap
    return found


def short(words: str, room: float) -> str:
    """Words cut to the room they have, in units of a drawing."""
    letters = max(3, int(room / LETTER))
    return words if len(words) <= letters else f"{words[: letters - 1]}…"


def markup(root: Element) -> SafeString:
    """A picture for a template to print."""
    printed = tostring(root, encoding="unicode", short_empty_elements=False)
    return mark_safe(printed)  # noqa: S308  # nosec B308, B703  (ElementTree escapes)


def _hint(mark: Element, hint: str) -> None:
    if hint:
        SubElement(mark, "title").text = hint


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
