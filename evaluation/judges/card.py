"""What stands on the card of a judge: figures beside people, and how it reads as a table."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from evaluation.agents.protocol.measures import calibration_error
from evaluation.metrics.alignment import partial_correlation
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.agreement import cohen_kappa
from kit.stats.kappa import Weights
from kit.stats.proportions import Proportion, proportion
from kit.stats.ratings import from_triples
from kit.stats.results import Estimate

BINARY: Final = (0.0, 1.0)
# Of long answers; a grader may give any whole number.
POINTS: Final = tuple(float(n) for n in range(101))
PEOPLE: Final = "people"
_BINS: Final = 5


@dataclass(frozen=True)
class Seen:
    """One item that a judge and a person gave a value: of which query, how long its text is, and
    whether the author of the judge's prompt never saw it."""

    key: tuple[Hashable, ...]
    query: int
    judge: float
    other: float
    length: int
    is_held_out: bool = True


@dataclass(frozen=True)
class Measure:
    """What a judge says on one scale, beside others who are called `beside`."""

    name: str
    scale: Sequence[float]
    seen: Sequence[Seen]
    beside: str = PEOPLE

    def kappa(self, *, held_out: bool) -> Estimate:
        """Cohen's kappa, quadratic on scales of more than two values."""
        weights: Weights = "quadratic" if len(self.scale) > 2 else "unweighted"
        kept = [each for each in self.seen if each.is_held_out or not held_out]
        both = ((e.key, (("the judge", e.judge), (self.beside, e.other))) for e in kept)
        triples = [(key, who, value) for key, pair in both for who, value in pair]
        return cohen_kappa(from_triples(triples, categories=self.scale, scores=self.scale), weights)

    @property
    def length_bias(self) -> float | None:
        """Correlation of the judge's values with the logarithm of the length, what both owe to the
        others' values taken out: above 0 it favours long texts."""
        if len(self.seen) < 4:
            return None
        columns = zip(*((e.judge, log(1 + e.length), e.other) for e in self.seen), strict=True)
        return partial_correlation(*columns)

    @property
    def calibration(self) -> float | None:
        """Mean distance of the judge's and others' values, both from 0 to 1, over bins of equal
        count by the judge's value."""
        low, width = min(self.scale), max(self.scale) - min(self.scale)
        pairs = [((e.judge - low) / width, (e.other - low) / width) for e in self.seen]
        return calibration_error(pairs, _BINS)


@dataclass(frozen=True)
class Card:
    """One judge. `swap` are values that change when what it is shown changes its order (None: of
    this kind that cannot be tried), `again` those that change when it is asked again, `sigma` the
    mean spread of repetitions, `files` what there is of it in a shape of TREC AutoJudge, with
    whose name it is asked for."""

    key: str
    kind: str
    name: str
    url: str
    practice: bool
    model: str
    verdicts: int
    failed: int
    usd: float
    measures: Sequence[Measure] = field(default_factory=tuple)
    swap: Proportion | None = field(default_factory=lambda: Proportion(0, 0))
    again: Proportion = field(default_factory=lambda: Proportion(0, 0))
    sigma: float | None = None
    files: Sequence[tuple[str, str]] = field(default_factory=tuple)


def table_of(card: Card) -> ReportTable:
    """The card as a table: a figure a row."""
    rows: list[tuple[Cell, ...]] = []
    for each in card.measures:
        n, beside = Cell(len(each.seen)), text(each.beside)
        for held_out, words in ((True, "held out"), (False, "all items")):
            if each.beside == PEOPLE or not held_out:
                found = each.kappa(held_out=held_out)
                rows.append(
                    (text(f"κ, {each.name}, {words}"), measured(found, "coefficient"),
                     Cell(found.n_items), text(found.reason or each.beside))
                )  # fmt: skip
        for words, value in (
            ("length bias", each.length_bias),
            ("calibration error", each.calibration),
        ):
            rows.append((text(f"{words}, {each.name}"), Cell(value, "coefficient"), n, beside))
    swap, untried = card.swap, "not tried"
    if swap is None:
        swap, untried = Proportion(0, 0), "cannot be tried with judges of this kind"
    for words, share, why in (
        ("changes when the order is swapped", swap, untried),
        ("changes when asked again", card.again, "not repeated"),
    ):
        rows.append((text(words), percent(share), Cell(share.n), text("" if share.n else why)))
    if card.sigma is not None:
        sigma = Cell(card.sigma, "coefficient")
        rows.append((text("mean sigma of repetitions"), sigma, Cell(None), text("quality")))
    said = card.verdicts + card.failed
    usd = Cell(card.usd / card.verdicts if card.verdicts else None, "usd")
    failed = percent(proportion(card.failed, said))
    rows += [
        (text("without a verdict"), failed, Cell(said), text("")),
        (text("dollars a verdict"), usd, Cell(card.verdicts), text("")),
    ]
    practice = "The practice model judges by shared words; nothing of this is to be read."
    notes = (practice,) if card.practice else ()
    title = f"{card.kind}: {card.name}"
    header = ("figure", "value", "items", "compared with, or why there is none")
    return ReportTable(card.key, title, header, tuple(rows), notes)


def changed(one: Mapping[Hashable, object], other: Mapping[Hashable, object]) -> Proportion:
    """Values that both have, and that are not the same."""
    shared = one.keys() & other.keys()
    return proportion(sum(one[key] != other[key] for key in shared), len(shared))
