"""Pictures of the leaderboard; the tables beside them hold the same numbers."""

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from django.utils.safestring import SafeString

from evaluation.leaderboard.before_after import Comparison
from evaluation.leaderboard.services import Leaderboard, Line
from evaluation.scores.services import GoldView
from kit.charts.drawing import Axis, Drawing, Words, axis, markup
from kit.charts.plots import Slope, points, scatter, slopes


class Strips:
    """The scale of a column, and a strip for each of its rows, in shares of the cell's width."""

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


def strips_of(board: Leaderboard) -> Strips:
    """The scale on which means, intervals and base means of the board stand."""
    ends = [(each.mean, each.low, each.high, each.base_mean) for each in board.lines]
    return Strips([end for row in ends for end in row], points)


def strip_of(strips: Strips, board: Leaderboard, line: Line) -> str:
    """A system's mean with its interval, and its base mean where that is another gold."""
    if line.mean is None:
        return ""
    base = None if board.view == GoldView.BASE else line.base_mean
    words = f"{100 * line.mean:.1f}"
    if line.low is not None and line.high is not None:
        words += f" ({100 * line.low:.1f} to {100 * line.high:.1f})"
    if base is not None:
        words += f", with the base gold {100 * base:.1f}"
    return strips.row(words, line.mean, line.low, line.high, base)


def moves_of(board: Leaderboard) -> Drawing | None:
    """Ranks under the base gold and under that of the board; None where these are one."""
    if board.view == GoldView.BASE:
        return None
    rows = [
        (each.run.name, each.base_mean, each.mean, each.base_rank, each.rank)
        for each in board.lines
    ]
    return _slopes("moves", f"{board.metric}: base and {board.view} gold", "base", board.view, rows)


def shifts_of(found: Comparison, name: str) -> Drawing | None:
    """Ranks of the systems on both sides of a comparison."""
    rows = [
        (each.name, each.first.mean, each.second.mean, each.first.rank, each.second.rank)
        for each in found.lines
    ]
    return _slopes(name, f"{found.metric}, before and after", "before", "after", rows)


def queries_of(found: Mapping[str, Any]) -> Drawing | None:
    """Every query's value by both systems."""
    rows = [(f"{domain} {qid}", one, other) for domain, qid, one, other in found["rows"]]
    title = f"{found['metric']}, query by query"
    return scatter("queries", title, found["first"].name, found["second"].name, rows)


def _slopes(
    name: str,
    title: str,
    before: str,
    after: str,
    rows: list[tuple[str, float | None, float | None, int | None, int | None]],
) -> Drawing | None:
    """Systems that have no rank on one of the sides are left to the table."""
    ranked = [
        Slope(system, one, other, rank_before, rank_after)
        for system, one, other, rank_before, rank_after in rows
        if one is not None and other is not None and rank_before and rank_after
    ]
    return slopes(name, title, (before, after), ranked)
