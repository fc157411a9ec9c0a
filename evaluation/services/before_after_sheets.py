"""A comparison before and after as tables, for CSV and the API."""

from collections.abc import Sequence

from evaluation.metrics.shifts import Between
from evaluation.metrics.standings import Standing
from evaluation.services.before_after import Comparison
from kit.sheets import Cell, Sheet, text


def systems_sheet(found: Comparison) -> Sheet:
    """One row a system, ranks and gains with their intervals."""
    rows = tuple(
        (
            text(line.name),
            _mean(line.first),
            _rank(line.first),
            _mean(line.second),
            _rank(line.second),
            _cell(line.gain),
            _cell(line.won),
            Cell(line.test.p),
            Cell(line.queries),
            Cell(line.left_out),
        )
        for line in found.lines
    )
    header = (
        *("system", f"{found.metric} before", "rank before", f"{found.metric} after"),
        *("rank after", "gain", "places won", "p", "queries", "queries on one side only"),
    )
    tau = found.tau
    words = (
        "undefined" if tau.value is None else f"{tau.value:.3f} ({tau.low:.3f} to {tau.high:.3f})"
    )
    notes = (
        f"Kendall's tau-b of both orders: {words}.",
        "Intervals: 2,000 draws of queries within each domain, the same on both sides, 95 %. p: "
        "two-sided randomisation test of the queries' differences.",
        f"Domains: {', '.join(found.domains)}.",
    )
    return Sheet("systems", f"{found.metric}, before and after", header, rows, notes)


def queries_sheet(system: str, rows: Sequence[tuple[str, str, float, float]]) -> Sheet:
    """One row a query of one system."""
    cells = tuple(
        (text(domain), text(qid), Cell(one), Cell(other), Cell(other - one))
        for domain, qid, one, other in rows
    )
    header = ("domain", "query", "before", "after", "gain")
    return Sheet("queries", f"Queries of {system}", header, cells)


def _mean(standing: Standing) -> Cell:
    return Cell(standing.mean, low=standing.low, high=standing.high)


def _rank(standing: Standing) -> Cell:
    return Cell(standing.rank, low=standing.rank_low, high=standing.rank_high)


def _cell(found: Between) -> Cell:
    return Cell(found.value, low=found.low, high=found.high)
