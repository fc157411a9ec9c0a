"""Pictures of the leaderboard; the tables beside them hold the same numbers."""

from evaluation.leaderboard.before_after import Comparison
from evaluation.leaderboard.services import Compared, Leaderboard, Line
from evaluation.scores.services import GoldView
from kit.charts.drawing import Drawing
from kit.charts.plots import Slope, points, scatter, slopes
from kit.charts.strips import Strips


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


def queries_of(found: Compared) -> Drawing | None:
    """Every query's value by both systems."""
    rows = [(f"{domain} {qid}", one, other) for domain, qid, one, other in found.rows]
    title = f"{found.metric}, query by query"
    return scatter("queries", title, found.first.name, found.second.name, rows)


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
