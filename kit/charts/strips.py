"""Values with their intervals drawn in the rows of a table, on one scale above them.

Places are shares of the cell's width, which a strip fills however wide it is.
"""

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

from django.utils.safestring import SafeString

from kit.charts.drawing import Axis, Words, axis, markup


class Strips:
    """The scale of a column, and a strip for each of its rows."""

    def __init__(self, values: Iterable[float | None], words: Words) -> None:
        known = [value for value in values if value is not None]
        self._scale: Axis = axis("", known, 2.0, 98.0, words=words)

    def head(self) -> SafeString:
        """The ticks, for the head of the column; the numbers stand in the rows beside it."""
        found = Element("svg", {"class": "strip axis", "aria-hidden": "true"})
        for step in self._scale.steps:
            SubElement(
                found, "text", {"x": self._at(step), "y": "14", "text-anchor": "middle"}
            ).text = self._scale.words(step)
        return markup(found)

    def row(
        self, words: str, value: float | None, low: float | None, high: float | None,
        earlier: float | None = None,
    ) -> SafeString:  # fmt: skip
        """A dot with its interval and the earlier value as a ring; `words` say the same."""
        found = Element("svg", {"class": "strip", "role": "img", "aria-label": words})
        for step in self._scale.steps:
            self._line(found, "rule", step, step, "0", "100%")
        if low is not None and high is not None:
            self._line(found, "whisker", low, high, "50%", "50%")
        for css, size, each in (("ring", "4.5", earlier), ("disc", "5", value)):
            if each is not None:
                places = {"cx": self._at(each), "cy": "50%", "r": size}
                SubElement(found, "circle", {"class": css, **places})
        return markup(found)

    def _at(self, value: float) -> str:
        return f"{self._scale(value):.2f}%"

    def _line(self, found: Element, css: str, x1: float, x2: float, y1: str, y2: str) -> None:
        ends = {"x1": self._at(x1), "x2": self._at(x2), "y1": y1, "y2": y2}
        SubElement(found, "line", {"class": css, **ends})
