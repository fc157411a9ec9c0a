"""The tables of an agreement page: each number with its interval, or in words why there is none."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from annotate.agreement.people import (
    PairReport,
    PersonReport,
    model_report,
    pair_reports,
    person_reports,
)
from annotate.agreement.slices import Dimension, Slice, measured, sliced
from evaluation.agreement.services import Reading
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.planning import items_needed
from kit.stats.results import FEW_ITEMS, Estimate

NAMES: dict[str, str] = {
    "percent_agreement": "Percent agreement",
    "cohen_kappa": "Cohen’s κ",
    "cohen_kappa_linear": "Cohen’s κ, linear",
    "cohen_kappa_quadratic": "Cohen’s κ, quadratic",
    "fleiss_kappa": "Fleiss’ κ",
    "conger_kappa": "Conger’s κ",
    "krippendorff_alpha_nominal": "Krippendorff’s α, nominal",
    "krippendorff_alpha_ordinal": "Krippendorff’s α, ordinal",
    "krippendorff_alpha_interval": "Krippendorff’s α, interval",
}
# Fewer items say nothing about people: one label more or less would move every number by a tenth.
ENOUGH = 10
FEW = (
    f"Under {FEW_ITEMS} items an interval may be too narrow: at 30 items some 95 % intervals hold "
    "in 91 of 100 samples only."
)
SLICES: dict[Dimension, tuple[str, str]] = {
    "domain": ("By domain", "Domain"),
    "month": ("By month", "Month"),
    "guideline": ("By version of the guidelines", "Version"),
    "person": ("By blind scorer", "Scorer"),
}
MAX_PAIRS = 60
MIN_SHARED = 5
To = Callable[..., str]
Parts = dict[Dimension, tuple[Slice, ...]]


def whole(reading: Reading) -> Slice:
    """Agreement over everything that was read."""
    return measured(reading.ratings, reading.scale)


def parts(reading: Reading) -> Parts:
    """The same by domain, month and version of the guidelines, and by who scored, where known."""
    shown = [by for by in SLICES if by != "person" or reading.scorers]
    return {by: sliced(reading.ratings, reading.scale, by) for by in shown}


def coefficient_table(reading: Reading, found: Slice, to: To) -> ReportTable:
    """Every coefficient over everything."""
    rows = [
        (
            text(NAMES[each.name]),
            estimate_cell(each, _items(each, to) if each.value is not None else ""),
            Cell(each.n_items, url=_items(each, to)),
            Cell(each.n_raters),
            text(_remarks(each)),
        )
        for each in found.coefficients
    ]
    return ReportTable(
        name="coefficients",
        title="All together",
        header=("Coefficient", "Value", "Items", "Raters", "To know"),
        rows=tuple(rows) if found.n_shared else (),
        notes=few(found.coefficients),
        empty=reading.empty,
    )


def met_table(reading: Reading, found: Slice) -> ReportTable:
    """How often one label met another on an item: what the heat map shows."""
    names = list(reading.label_names.values())
    rows = [
        (text(name), *(Cell(round(cell, 4)) for cell in cells))
        for name, cells in zip(names, found.table, strict=True)
    ]
    return ReportTable(
        name="met",
        title="Which labels met on one item",
        header=("Label", *names),
        rows=tuple(rows) if any(map(any, found.table)) else (),
        notes=("Pairs of labels on one item, every item weighing as much as it has labels.",),
        empty=reading.empty,
    )


def slice_table(reading: Reading, by: Dimension, found: Iterable[Slice], to: To) -> ReportTable:
    """One row per domain, month or version."""
    title, head = SLICES[by]
    slices = list(found)
    shown = columns(reading)
    rows = [
        (
            text(reading.scorers.get(each.key) or _key_in_words(by, each.key)),
            Cell(each.n_shared, url=to(by=by, key=each.key, show="shared")),
            Cell(len(each.split), url=to(by=by, key=each.key, show="split")),
            *(
                estimate_cell(each.coefficient(name), to(by=by, key=each.key, show=behind(name)))
                for name in shown
            ),
        )
        for each in slices
    ]
    notes = {
        "month": ("An item counts in the month of its last label.",),
        "guideline": (
            "Labels given under different versions make an item “mixed”; 0 is the default.",
        ),
    }.get(by, ())
    return ReportTable(
        name="people" if by == "person" else f"{by}s",
        title=title,
        header=(head, "Items shared", "Split", *(NAMES[name] for name in shown)),
        rows=tuple(rows),
        notes=(*notes, *few(each.coefficient(shown[0]) for each in slices)),
        empty=reading.empty,
    )


def _items(found: Estimate, to: To) -> str:
    """A link to the items of a coefficient; none to those that every rater labelled."""
    is_listed = found.n_items and found.name != "conger_kappa"
    return to(show=behind(found.name)) if is_listed else ""


def behind(name: str) -> str:
    """Which items a coefficient takes, as links name them."""
    return "counted" if name == "fleiss_kappa" else "shared"


def columns(reading: Reading) -> tuple[str, ...]:
    """The coefficients that stand side by side where there are many rows."""
    if reading.scale.level == "nominal" and not reading.people:
        return ("percent_agreement", "cohen_kappa", "krippendorff_alpha_nominal")
    if reading.scale.level == "nominal":
        return ("percent_agreement", "fleiss_kappa", "krippendorff_alpha_nominal")
    return (
        "percent_agreement",
        *("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic"),
        *("krippendorff_alpha_ordinal", "krippendorff_alpha_interval"),
    )


def plan_table(reading: Reading, found: Slice, width: float) -> ReportTable:
    """Sample size estimate: how many more items an interval of this width needs."""
    rows = []
    for each in found.coefficients:
        if each.value is None:
            continue
        plan = items_needed(each, width=width)
        rows.append(
            (
                text(NAMES[each.name]),
                Cell(plan.width_now, "coefficient"),
                Cell(plan.target_width, "coefficient"),
                Cell(plan.needed) if plan.needed is not None else text(plan.reason),
                Cell(plan.more) if plan.more is not None else text("unknown"),
            )
        )
    return ReportTable(
        name="plan",
        title="How many more items need two labels or more",
        header=("Coefficient", "Width now", "Target width", "Items in all", "Still to judge"),
        rows=tuple(rows),
        notes=("A forecast: it supposes that the items to come are like those that are in.",),
        empty="No forecast without an interval. " + reading.empty,
    )


def estimate_cell(each: Estimate, url: str = "") -> Cell:
    """The value with its interval; where there is none, the sentence that says why."""
    if each.value is None:
        return text(each.reason)
    kind = "percent" if each.name == "percent_agreement" else "coefficient"
    return Cell(each.value, kind, each.low, each.high, url)


def in_short(reading: Reading, found: Slice) -> str:
    """What the tables come to, in a sentence."""
    same = found.n_shared - len(found.split)
    said = (
        f"Everybody gave the same label to {same:,} of {found.n_shared:,} {reading.item}s that two "
        f"people or more labelled"
    )
    main = found.coefficient(reading.headline)
    if main.value is None:
        return f"{said}. {NAMES[main.name]} is undefined: {main.reason}"
    words = f"{said}; {NAMES[main.name]} is {main.value:.3f}"
    if main.low is None or main.high is None:
        return f"{words}."
    return f"{words} ({main.low:.3f} to {main.high:.3f} with 95 % confidence)."


def _remarks(each: Estimate) -> str:
    method = (
        f"{100 * each.interval.confidence:g} %: {each.interval.method}." if each.interval else ""
    )
    return " ".join(filter(None, [method, each.interval_reason, *each.notes]))


def few(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """The warning of few items, where one of these has few."""
    return (FEW,) if any(each.few_items and each.n_items for each in estimates) else ()


def _key_in_words(by: Dimension, key: str) -> str:
    return f"version {key}" if by == "guideline" and key.isdigit() else key


def link_to(base: str) -> To:
    """Links to the items behind a number: `to(by=..., key=..., show=...)`."""

    def to(**params: object) -> str:
        return f"{base}?{urlencode(params)}"

    return to


def pair_table(reading: Reading, to: To) -> ReportTable:
    """Two people at a time, on the items that both labelled."""
    found = pair_reports(reading.ratings, reading.scale, at_least=MIN_SHARED, most=MAX_PAIRS)
    return ReportTable(
        name="pairs",
        title="Pairs of people",
        header=("Pair", "Items shared", "Split", "Percent agreement", "Cohen’s κ"),
        rows=tuple(_pair(reading, each, to) for each in found),
        notes=(
            f"Pairs with {MIN_SHARED} shared items or more; the {MAX_PAIRS} with most.",
            *few(each.coefficients[0] for each in found),
        ),
        empty=f"No two people share {MIN_SHARED} items yet.",
    )


def _pair(reading: Reading, each: PairReport, to: To) -> tuple[Cell, ...]:
    who = {
        "first": reading.people[str(each.first)],
        "second": reading.people[str(each.second)],
    }
    return (
        text(f"{each.first} and {each.second}"),
        Cell(each.n_items, url=to(**who, show="shared")),
        Cell(len(each.split), url=to(**who, show="split")),
        *(estimate_cell(found, to(**who, show="shared")) for found in each.coefficients[:2]),
    )


def people_table(reading: Reading, to: To) -> ReportTable:
    """Each person compared with the majority of the others, and by Dawid and Skene's model."""
    found = person_reports(reading.ratings, reading.scale)
    names = [reading.label_names[label] for label in reading.scale.categories]
    return ReportTable(
        name="people",
        title="Each person beside the others",
        header=(
            *("Person", "Labels", "As the others’ majority", "Stood alone"),
            *(f"{name.capitalize()} recognised" for name in names),
            "Estimated accuracy (Dawid-Skene)",
        ),
        rows=tuple(_person(reading, each, to) for each in found),
        notes=(
            "The majority of the others stands for the truth; items on which they tie are left "
            "out. The model (Dawid and Skene 1979) finds the likely label of each item and each "
            "person’s error rates together. Standing alone is no error by itself: read the items.",
        ),
        empty=reading.empty,
    )


def _person(reading: Reading, each: PersonReport, to: To) -> tuple[Cell, ...]:
    key = reading.people[str(each.rater)]
    modelled = each.modelled
    return (
        text(str(each.rater)),
        Cell(each.n_labels, url=to(person=key)),
        percent(each.agreement, to(person=key, show="clear")),
        Cell(len(each.against), url=to(person=key, show="against")),
        *(
            percent(recall, to(person=key, show="others", label=label))
            for label, recall in zip(
                reading.scale.categories, each.with_majority.recalls, strict=True
            )
        ),
        text("the model did not settle")
        if modelled is None
        else Cell(modelled, "percent", url=to(person=key)),
    )


def model_table(reading: Reading, items: Callable[[int], tuple[str, str]]) -> ReportTable:
    """Items that the model would label otherwise than the majority; `items` names and links one."""
    found = model_report(reading.ratings, reading.scale)
    words = reading.label_names
    rows = []
    for each in found["apart"]:
        name, url = items(each["item"])
        majority = each["majority"]
        rows.append(
            (
                text(name, url),
                text(", ".join(words[label] for label in each["labels"])),
                text("a tie" if majority is None else words[int(str(majority))]),
                text(words[int(str(each["modelled"]))]),
                Cell(each["certainty"], "percent"),
            )
        )
    return ReportTable(
        name="model",
        title="Where the model and the majority part",
        header=("Item", "Labels", "Majority", "Model", "Certainty of the model"),
        rows=tuple(rows),
        notes=(_model_note(reading, found),),
        empty=reading.empty if not found["n_items"] else "They give the same label everywhere.",
    )


def _model_note(reading: Reading, found: dict[str, Any]) -> str:
    if not found["n_items"]:
        return "Nothing to model yet."
    if found["prevalence"] is None:
        return "The model did not settle within its iterations, so it says nothing here."
    shares = ", ".join(
        f"{100 * share:.1f} % {reading.label_names[label]}"
        for label, share in zip(reading.scale.categories, found["prevalence"], strict=True)
    )
    return (
        f"Over {found['n_items']} items; by the model {shares}. The label of a case stays that of "
        "its rule: the model is a second look, and decides nothing."
    )
