"""What a reference panel found: labels, agreement of its experts, and the seniors' overrides.

Nothing here shows how an item stands that is still being labelled: it counts as waiting.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.urls import reverse

from annotate.agreement.people import pair_reports
from annotate.agreement.ratings import BINARY, Rating, ratings_of
from annotate.models import CaseStatus, CheckKind, ReferencePanel, SpotCheck, Vote
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.agreement import krippendorff_alpha, percent_agreement
from kit.stats.means import mean
from kit.stats.proportions import proportion

_MOST_PAIRS = 50
Tally = dict[str, Any]
"""What became of the items of one domain: counts by name, and the seconds of its labels."""


def panel_sheets(panel: ReferencePanel) -> list[ReportTable]:
    """Every table of the report, in the order of the page."""
    tallies = _tallies(panel)
    sheets = [_labels(panel, tallies), _checks(panel, tallies)]
    return [*sheets, _agreement(panel)] if panel.is_double else sheets


def _labels(panel: ReferencePanel, tallies: dict[str, Tally]) -> ReportTable:
    def row(name: str, found: Tally, **narrow: str) -> tuple[Cell, ...]:
        def cell(count: int, **more: str) -> Cell:
            return Cell(count, url=_url(panel, "panel-items", **narrow, **more))

        given = found["relevant"] + found["irrelevant"]
        relevant = _url(panel, "panel-items", **narrow, label="1")
        return (
            text(name),
            cell(found["items"]),
            cell(found["relevant"], label="1"),
            cell(found["irrelevant"], label="0"),
            percent(proportion(found["relevant"], given), relevant),
            cell(found["undecided"], state="undecided"),
            cell(found["waiting"], state="waiting"),
            cell(found["bare"], reasons="none"),
            measured(mean(found["seconds"]), "seconds"),
        )

    return ReportTable(
        name="labels",
        title="Reference labels",
        header=(
            *("Domain", "Items", "Relevant", "Not relevant", "Share relevant"),
            *("Undecided", "Waiting", "Without reasons", "Seconds"),
        ),
        rows=tuple(_rows(tallies, row)),
        notes=(
            "Labels as they stand, a senior’s where one looked. Undecided: the experts differ, or "
            "one could not judge; a senior decides. Shares have Wilson’s interval. Seconds: the "
            "mean of the labels given, with Student’s interval.",
        ),
        empty="Nothing is drawn.",
    )


def _checks(panel: ReferencePanel, tallies: dict[str, Tally]) -> ReportTable:
    def row(name: str, found: Tally, **narrow: str) -> tuple[Cell, ...]:
        overridden, looked = found["override"], found["override"] + found["keep"]
        decided = _url(panel, "override-log", **narrow, kind="decide")
        log = _url(panel, "override-log", **narrow, kind="override")
        return (
            text(name),
            Cell(found["drawn"]),
            Cell(looked, url=_url(panel, "override-log", **narrow)),
            Cell(overridden, url=log),
            percent(proportion(overridden, looked), log),
            Cell(found["decide"], url=decided),
        )

    return ReportTable(
        name="checks",
        title="Spot check",
        header=("Domain", "Drawn", "Looked at", "Overridden", "Share overridden", "Decided"),
        rows=tuple(_rows(tallies, row)),
        notes=(
            "A senior keeps or overrides the labels of a seeded part of the items; the share is of "
            "those looked at, with Wilson’s interval. Decided: items that the experts had left "
            "undecided; they are not in the share.",
        ),
        empty="Nothing is drawn.",
    )


def _agreement(panel: ReferencePanel) -> ReportTable:
    """Each pair of experts, and all of them together."""
    given = _ratings(panel)
    numbers: dict[int, int] = {}
    for each in given:
        numbers.setdefault(each.person, len(numbers) + 1)
    rows = []
    if given:
        ratings = ratings_of(given, BINARY)
        rows.append(
            (
                *(text("All"), text("all of them"), Cell(len(ratings.items))),
                measured(percent_agreement(ratings), "percent"),
                Cell(None, "coefficient"),
                measured(krippendorff_alpha(ratings), "coefficient"),
            )
        )
    for domain in sorted({each.domain for each in given}):
        own = [each for each in given if each.domain == domain]
        for pair in pair_reports(own, BINARY, most=_MOST_PAIRS):
            both = (numbers[int(str(person))] for person in (pair.first, pair.second))
            agreement, kappa = pair.coefficients
            rows.append(
                (
                    *(text(domain), text(" and ".join(f"expert {each}" for each in both))),
                    *(Cell(pair.n_items), measured(agreement, "percent")),
                    *(measured(kappa, "coefficient"), Cell(None, "coefficient")),
                )
            )
    return ReportTable(
        name="agreement",
        title="Agreement of the experts",
        header=("Domain", "Experts", "Items", "Agreement", "Cohen’s κ", "Krippendorff’s α"),
        rows=tuple(rows),
        notes=(
            "Over items that two experts labelled blind to each other, before any senior looked. "
            "Cohen’s κ is of a pair of people, and undefined where one of them gave one label "
            "only; α is over everybody. Intervals: Wilson’s for agreement, the jackknife’s for κ "
            "and α.",
        ),
        empty="No item has both of its labels yet.",
    )


def _ratings(panel: ReferencePanel) -> list[Rating]:
    """The labels of items that have both, whatever a senior said of them later."""
    rows = (
        Vote.objects.standing()
        .filter(case__reference_item__panel=panel, label__isnull=False)
        .exclude(case__status=CaseStatus.OPEN)
        .order_by("pk")
        .values_list("case__reference_item", "voter_id", "label", "case__query__domain__name")
    )
    both = Counter(item for item, *_ in rows)
    return [
        Rating(item=item, rater=voter, label=int(label or 0), person=voter, domain=domain)
        for item, voter, label, domain in rows
        if both[item] == 2
    ]


def _tallies(panel: ReferencePanel) -> dict[str, Tally]:
    """By name of domain."""

    def count(**which: Any) -> Count:
        return Count("pk", filter=Q(**which))

    domain = "case__query__domain__name"
    rows = panel.items.order_by(domain).values(domain)
    found: dict[str, Tally] = {
        row.pop(domain): row | {"seconds": []}
        for row in rows.annotate(
            items=Count("pk"),
            relevant=count(case__label=1),
            irrelevant=count(case__label=0),
            undecided=count(case__status=CaseStatus.EXPERT),
            waiting=count(case__status=CaseStatus.OPEN),
            bare=count(hints={}),
            drawn=count(in_spot_check=True),
        )
    }
    checks = SpotCheck.objects.standing().filter(item__panel=panel).order_by()
    by_domain = checks.values_list(f"item__{domain}")
    kinds = {kind: Count("pk", filter=Q(kind=kind)) for kind in CheckKind.values}
    for name, *counts in by_domain.annotate(**kinds):
        found[name] |= dict(zip(kinds, counts, strict=True))
    votes = Vote.objects.standing().filter(case__reference_item__panel=panel)
    timed = votes.exclude(elapsed_ms=None).exclude(case__status=CaseStatus.OPEN)
    for name, ms in timed.values_list(domain, "elapsed_ms"):
        found[name]["seconds"].append((ms or 0) / 1000)
    return {name: dict.fromkeys(kinds, 0) | tally for name, tally in found.items()}


def _rows(
    tallies: dict[str, Tally], row: Callable[..., tuple[Cell, ...]]
) -> Iterator[tuple[Cell, ...]]:
    """One of each domain, and of all together where there are several."""
    whole: Tally = defaultdict(int, seconds=[])
    for name, tally in tallies.items():
        yield row(name, tally, domain=name)
        for key, value in tally.items():
            whole[key] = whole[key] + value
    if len(tallies) > 1:
        yield row("All", whole)


def _url(panel: ReferencePanel, view: str, **narrow: str) -> str:
    query = f"?{urlencode(narrow)}" if narrow else ""
    return reverse(view, args=[panel.benchmark.slug, panel.pk]) + query
