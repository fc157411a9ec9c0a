"""Holes as tables: how the find grows over systems, and where gold of aspects is thin."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from corpus.models import Benchmark, Query
from evaluation.scores.aspects import METRICS as ASPECT_METRICS
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.lists.report_tables import Cell, ReportTable, text

# Of each domain so many aspects are shown.
_THIN = 10


def growth_table(name: str, found: dict[str, Any]) -> ReportTable:
    """Means over the orders at each number of systems: reach, growth, contribution."""
    reach = found["reach"]
    size = len(reach[0]) if reach else 0
    marginal = found["marginal"] or {}
    header = ["systems", "holes reached", "growth", "growth by weight of aspects"]
    header += [f"contribution to {metric} of one more" for metric in marginal]
    rows = []
    if marginal:
        none_known = [Cell(_at(values, 0)) for values in marginal.values()]
        rows.append((Cell(0), Cell(0), Cell(None), Cell(None), *none_known))
    for place in range(size):
        cells = [
            Cell(place + 1),
            Cell(sum(order[place] for order in reach) / len(reach)),
            Cell(found["growth"][place]),
            Cell(found["aspect_growth"][place] if found["aspect_growth"] else None),
        ]
        # A held-out system joins m others: beyond m - 1 there is none left.
        cells += [Cell(_at(values, place + 1)) for values in marginal.values()]
        rows.append(tuple(cells))
    notes = (
        "Means over ten seeded orders of the systems; nothing is divided by an empty set.",
        "Contribution: how far the measure of a system moves once its own holes count, "
        "given those that so many others found.",
    )
    return ReportTable(f"growth-{name}", f"Growth in {name}", tuple(header), tuple(rows), notes)


def holes_in(sheet: ScoreSheet, view: str = GoldView.REFINED) -> dict[str, dict[str, Any]]:
    """Holes by domain, of the refined gold or, where there is machine gold, of that view."""
    return {name: found.get(view, found) for name, found in sheet.holes.items()}


def all_growth(sheet: ScoreSheet, view: str = GoldView.REFINED) -> ReportTable:
    """The domains' tables one under the other, for CSV and API."""
    tables = [(name, growth_table(name, found)) for name, found in holes_in(sheet, view).items()]
    header: list[str] = []
    for _, table in tables:
        header += [head for head in table.header if head not in header]
    rows = []
    for name, table in tables:
        for row in table.rows:
            cells = dict(zip(table.header, row, strict=True))
            rows.append((text(name), *(cells.get(head, Cell(None)) for head in header)))
    return ReportTable("growth", "Growth of holes", ("domain", *header), tuple(rows))


Known = Mapping[str, dict[str, Any]]


def aspect_tables(sheet: ScoreSheet) -> list[ReportTable]:
    """Systems by measures of aspects, and how thin the gold of aspects is; empty without any."""
    known = {name: of for name, found in sheet.holes.items() if (of := found.get("aspects"))}
    if not known:
        return []
    return [_by_systems(known), _by_domains(known), _thinnest(sheet.benchmark, known)]


def _by_systems(known: Known) -> ReportTable:
    rows = [
        (
            text(each["name"]),
            text(name),
            *(Cell(each[metric.name], "coefficient") for metric in ASPECT_METRICS),
        )
        for name, of in known.items()
        for each in of["systems"]
    ]
    header = ("System", "Domain", *(metric.name for metric in ASPECT_METRICS))
    notes = (
        "aspect_hole@10: what holes among the first ten support, by weight; new_aspect@10: the "
        "share of aspects that only holes among them support. Measures of aspects alone count "
        "machine gold: what agents or voters say supports a single aspect, and no expert has "
        "assigned.",
    )
    return ReportTable("aspect-systems", "Systems by aspects", header, tuple(rows), notes)


def _by_domains(known: Known) -> ReportTable:
    counts = ("aspects", "passages", "machine_passages", "without", "machine_only", "single")
    rows = [
        (
            text(name),
            *(Cell(of[count]) for count in counts),
            Cell(of["weight_without"], "percent"),
            Cell(of["not_found"]),
        )
        for name, of in sorted(known.items(), key=lambda each: -(each[1]["weight_without"] or 0))
    ]
    header = (
        *("Domain", "Aspects", "Gold passages", "Machine gold", "Aspects without any"),
        *("By machine gold alone", "With a single one", "Weight without any"),
        "Not in any first ten",
    )
    title = "Gold of aspects by domain, the thinnest first"
    return ReportTable("aspect-domains", title, header, tuple(rows))


def _thinnest(benchmark: Benchmark, known: Known) -> ReportTable:
    shown = [(name, each) for name, of in known.items() for each in of["thinnest"][:_THIN]]
    pages = _pages(benchmark, [each["query"] for _, each in shown])
    rows = [
        (
            text(f"{name}-{each['query']}-a{each['k']}", pages.get((name, each["query"]), "")),
            text(each["content"]),
            Cell(each["share"], "percent"),
            Cell(each["experts"]),
            Cell(each["machine"]),
            text("yes" if each["found"] else "no"),
        )
        for name, each in shown
    ]
    header = ("Aspect", "What it says", "Share", "Gold", "Machine gold", "In a first ten")
    notes = (f"Of each domain {_THIN} at most: the least gold first, then the greatest share.",)
    return ReportTable("aspect-thinnest", "The thinnest aspects", header, tuple(rows), notes)


def _at(values: Sequence[float | None], place: int) -> float | None:
    return values[place] if place < len(values) else None


def _pages(benchmark: Benchmark, qids: Sequence[str]) -> dict[tuple[str, str], str]:
    """Where these queries are worked on, by domain and id."""
    rows = Query.objects.in_benchmark(benchmark).filter(qid__in=set(qids))
    return {
        (name, qid): reverse("query", args=[benchmark.slug, pk])
        for name, qid, pk in rows.values_list("domain__name", "qid", "pk")
    }
