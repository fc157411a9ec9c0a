"""An agreement report as plain data and as text, for the command and for scripts."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from kit.stats.agreement import (
    cohen_kappa,
    every_coefficient,
    krippendorff_alpha,
    percent_agreement,
)
from kit.stats.intervals import Options
from kit.stats.kappa import WEIGHTS
from kit.stats.planning import items_needed
from kit.stats.ratings import LEVELS, Level, Ratings
from kit.stats.reading import RatingFile
from kit.stats.results import FEW_ITEMS, Estimate

MOST_RATERS_IN_PAIRS = 30
FEW = (
    f"Few items: under {FEW_ITEMS} the intervals may be too narrow;"
    " docs/agreement.md shows by how much."
)


def as_dict(
    found: RatingFile,
    level: Level,
    *,
    votes: int | None = None,
    width: float | None = None,
    options: Options,
) -> dict[str, Any]:
    """Every coefficient over all raters, and for each pair where there are more than two.

    `width` adds to every coefficient how many items its interval needs to become that narrow.
    """
    ratings = found.ratings
    estimates = every_coefficient(ratings, level, votes=votes, options=options)
    n_raters = len(ratings.raters)
    wants_pairs = 2 < n_raters <= MOST_RATERS_IN_PAIRS
    return {
        "level": level,
        "items": len(ratings.items),
        "raters": n_raters,
        "labels": ratings.n_labels,
        "missing_labels": found.n_missing,
        "categories": list(ratings.categories),
        "few_items": any(estimate.few_items for estimate in estimates if estimate.n_items),
        "coefficients": {each.name: estimate_dict(each, width) for each in estimates},
        "pairs": _pairs(ratings, level, width, options) if wants_pairs else [],
        "pairs_left_out": n_raters > MOST_RATERS_IN_PAIRS,
    }


def estimate_dict(estimate: Estimate, width: float | None = None) -> dict[str, Any]:
    """One coefficient; `value` and `interval` are None where there is none, with the reason."""
    ends = estimate.interval
    result: dict[str, Any] = {
        "value": estimate.value,
        "reason": estimate.reason,
        "interval": ends
        and {
            "low": ends.low,
            "high": ends.high,
            "confidence": ends.confidence,
            "method": ends.method,
        },
        "interval_reason": estimate.interval_reason,
        "items": estimate.n_items,
        "raters": estimate.n_raters,
        "few_items": estimate.few_items,
        "notes": list(estimate.notes),
    }
    if width is not None:
        plan = items_needed(estimate, width=width)
        result["plan"] = {
            "width": plan.target_width,
            "items_needed": plan.needed,
            "more_items": plan.more,
            "reason": plan.reason,
        }
    return result


def against_dict(
    found: RatingFile, level: Level, *, width: float | None = None, options: Options
) -> dict[str, Any]:
    """The first rater of a table with each of the others, over the items that both labelled."""
    ratings = found.ratings
    rows: list[dict[str, Any]] = []
    for other in range(1, len(ratings.raters)):
        pair = ratings.pair(0, other)
        estimates = [*_of_pair(pair, level, options), krippendorff_alpha(pair, level, options)]
        coefficients = {each.name: estimate_dict(each, width) for each in estimates}
        rows.append({"file": pair.raters[1], "coefficients": coefficients})
    return {
        "level": level,
        "items": len(ratings.items),
        "labels": ratings.n_labels,
        "missing_labels": found.n_missing,
        "categories": list(ratings.categories),
        "few_items": any(
            each["few_items"] for row in rows for each in row["coefficients"].values()
        ),
        "against": rows,
    }


def against_text(report: dict[str, Any]) -> str:
    """The same as a block for each file."""
    lines = [
        f"{report['items']} items, {report['labels']} labels in {1 + len(report['against'])} files;"
        f" {report['level']} level, {len(report['categories'])} categories"
    ]
    for each in report["against"]:
        lines += ["", each["file"], *_block(each["coefficients"])]
    return "\n".join([*lines, "", *_methods([each["coefficients"] for each in report["against"]])])


def _pairs(
    ratings: Ratings, level: Level, width: float | None, options: Options
) -> list[dict[str, Any]]:
    rows = []
    for first, second in combinations(range(len(ratings.raters)), 2):
        pair = ratings.pair(first, second)
        estimates = _of_pair(pair, level, options)
        coefficients = {each.name: estimate_dict(each, width) for each in estimates}
        rows.append({"raters": list(pair.raters), "coefficients": coefficients})
    return rows


def _of_pair(pair: Ratings, level: Level, options: Options) -> list[Estimate]:
    weights = WEIGHTS[:1] if level == LEVELS[0] else WEIGHTS
    kappas = [cohen_kappa(pair, each, options) for each in weights]
    return [percent_agreement(pair, options), *kappas]


def as_text(report: dict[str, Any]) -> str:
    """The report as a table of 100 columns or less, reasons in place of numbers."""
    lines = [
        f"{report['items']} items, {report['raters']} raters, {report['labels']} labels,"
        f" {report['missing_labels']} missing; {report['level']} level,"
        f" {len(report['categories'])} categories",
        "",
    ]
    lines += _block(report["coefficients"])
    for pair in report["pairs"]:
        lines += ["", f"{pair['raters'][0]} and {pair['raters'][1]}"]
        lines += _block(pair["coefficients"])
    if report["pairs_left_out"]:
        lines += ["", f"Pairs are listed for {MOST_RATERS_IN_PAIRS} raters at most."]
    groups = [report["coefficients"], *(pair["coefficients"] for pair in report["pairs"])]
    return "\n".join([*lines, "", *_methods(groups)])


def _methods(groups: Sequence[dict[str, Any]]) -> list[str]:
    ends = [each["interval"] for group in groups for each in group.values() if each["interval"]]
    names = dict.fromkeys(f"{100 * end['confidence']:g} % {end['method']}" for end in ends)
    return [f"Intervals: {name}." for name in names]


def _block(coefficients: dict[str, dict[str, Any]]) -> list[str]:
    lines = []
    for name, each in coefficients.items():
        lines.append(f"{name.replace('_', ' '):28} {_cells(each)}")
        lines += [f"{'':28} {note}" for note in each["notes"]]
    return lines


def _cells(each: dict[str, Any]) -> str:
    if each["value"] is None:
        return f"      -  {each['reason']}"
    ends, items = each["interval"], f"{each['items']} items"
    interval = f"[{ends['low']:7.4f}, {ends['high']:7.4f}]" if ends else "(no interval)     "
    plan = each.get("plan")
    more = "" if not plan or plan["more_items"] is None else f", {plan['more_items']} more to judge"
    why = f". {each['interval_reason']}" if each["interval_reason"] else ""
    return f"{each['value']:7.4f}  {interval}  {items}{more}{why}"
