"""What a reference panel found: labels, agreement of its experts, and the seniors' overrides.

Nothing here shows how an item stands that is still being labelled: it counts as waiting.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.urls import reverse

from annotate.agreement.people import pair_reports
from annotate.agreement.ratings import BINARY, Rating, ratings_of
from annotate.models import CaseStatus, CheckKind, ReferencePanel, SpotCheck, Vote
from kit.sheets import Cell, Sheet, measured, percent, text
from kit.stats.agreement import krippendorff_alpha, percent_agreement
from kit.stats.means import mean
from kit.stats.proportions import proportion

_MOST_PAIRS = 50


@dataclass
class Tally:
    """What became of the items of one domain."""

    labels: Counter[int] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    without_reasons: int = 0
    drawn: int = 0
    checks: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def __iadd__(self, other: "Tally") -> "Tally":
        self.labels += other.labels
        self.states += other.states
        self.checks += other.checks
        self.without_reasons += other.without_reasons
        self.drawn += other.drawn
        self.seconds += other.seconds
        return self


def panel_sheets(panel: ReferencePanel) -> list[Sheet]:
    """Every table of the report, in the order of the page."""
    tallies = _tallies(panel)
    sheets = [_labels(panel, tallies), _checks(panel, tallies)]
    return [*sheets, _agreement(panel)] if panel.is_double else sheets


def _labels(panel: ReferencePanel, tallies: dict[str, Tally]) -> Sheet:
    def row(name: str, found: Tally, **narrow: str) -> tuple[Cell, ...]:
        def cell(count: int, **more: str) -> Cell:
            return Cell(count, url=_url(panel, "panel-items", **narrow, **more))

        given = found.labels.total()
        return (
            text(name),
            cell(found.states.total()),
            cell(found.labels[1], label="1"),
            cell(found.labels[0], label="0"),
            percent(
                proportion(found.labels[1], given),
                _url(panel, "panel-items", **narrow, label="1"),
            ),
            cell(found.states[CaseStatus.EXPERT], state="undecided"),
            cell(found.states[CaseStatus.OPEN], state="waiting"),
            cell(found.without_reasons, reasons="none"),
            measured(mean(found.seconds), "seconds"),
        )

    return Sheet(
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


def _checks(panel: ReferencePanel, tallies: dict[str, Tally]) -> Sheet:
    def row(name: str, found: Tally, **narrow: str) -> tuple[Cell, ...]:
        overridden, kept = found.checks[CheckKind.OVERRIDE], found.checks[CheckKind.KEEP]
        log = _url(panel, "override-log", **narrow, kind="override")
        return (
            text(name),
            Cell(found.drawn),
            Cell(overridden + kept, url=_url(panel, "override-log", **narrow)),
            Cell(overridden, url=log),
            percent(proportion(overridden, overridden + kept), log),
            Cell(
                found.checks[CheckKind.DECIDE],
                url=_url(panel, "override-log", **narrow, kind="decide"),
            ),
        )

    return Sheet(
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


def _agreement(panel: ReferencePanel) -> Sheet:
    """Each pair of experts, and all of them together."""
    given = _ratings(panel)
    numbers: dict[int, int] = {}
    for each in given:
        numbers.setdefault(each.person, len(numbers) + 1)
    rows = [_pooled("All", given)] if given else []
    for domain in sorted({each.domain for each in given}):
        own = [each for each in given if each.domain == domain]
        for pair in pair_reports(own, BINARY, most=_MOST_PAIRS):
            names = " and ".join(
                f"expert {numbers[int(str(p))]}" for p in (pair.first, pair.second)
            )
            agreement, kappa = pair.coefficients
            rows.append(
                (
                    text(domain),
                    text(names),
                    Cell(pair.n_items),
                    measured(agreement, "percent"),
                    measured(kappa, "coefficient"),
                    Cell(None, "coefficient"),
                )
            )
    return Sheet(
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


def _pooled(name: str, given: Sequence[Rating]) -> tuple[Cell, ...]:
    ratings = ratings_of(given, BINARY)
    alpha = krippendorff_alpha(ratings)
    return (
        text(name),
        text("all of them"),
        Cell(len(ratings.items)),
        measured(percent_agreement(ratings), "percent"),
        Cell(None, "coefficient"),
        measured(alpha, "coefficient"),
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
    found: dict[str, Tally] = {}
    columns = ("case__query__domain__name", "case__status", "case__label", "hints", "in_spot_check")
    for domain, status, label, hints, is_drawn in panel.items.values_list(*columns):
        tally = found.setdefault(domain, Tally())
        tally.states[status] += 1
        tally.without_reasons += not hints
        tally.drawn += is_drawn
        if label is not None:
            tally.labels[label] += 1
    checks = SpotCheck.objects.standing().filter(item__panel=panel)
    for domain, kind in checks.values_list("item__case__query__domain__name", "kind"):
        found[domain].checks[kind] += 1
    votes = Vote.objects.standing().filter(case__reference_item__panel=panel)
    timed = votes.exclude(elapsed_ms=None).exclude(case__status=CaseStatus.OPEN)
    for domain, ms in timed.values_list("case__query__domain__name", "elapsed_ms"):
        found[domain].seconds.append((ms or 0) / 1000)
    return dict(sorted(found.items()))


def _rows(
    tallies: dict[str, Tally], row: Callable[..., tuple[Cell, ...]]
) -> Iterator[tuple[Cell, ...]]:
    """One of each domain, and of all together where there are several."""
    whole = Tally()
    for name, tally in tallies.items():
        yield row(name, tally, domain=name)
        whole += tally
    if len(tallies) > 1:
        yield row("All", whole)


def _url(panel: ReferencePanel, view: str, **narrow: str) -> str:
    query = f"?{urlencode(narrow)}" if narrow else ""
    return reverse(view, args=[panel.benchmark.slug, panel.pk]) + query
