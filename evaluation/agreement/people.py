"""The tables of an agreement page that speak of people: pairs, each person, the model."""

from collections.abc import Callable

from annotate.agreement.people import (
    ModelReport,
    PairReport,
    PersonReport,
    model_report,
    pair_reports,
    person_reports,
)
from evaluation.agreement.services import Reading
from evaluation.agreement.sheets import To, estimate_cell, few
from kit.sheets import Cell, Sheet, percent, text

MOST_PAIRS = 60
LEAST_SHARED = 5


def pair_sheet(reading: Reading, to: To) -> Sheet:
    """Two people at a time, on the items that both labelled."""
    found = pair_reports(reading.opinions, reading.scale, at_least=LEAST_SHARED, most=MOST_PAIRS)
    return Sheet(
        name="pairs",
        title="Pairs of people",
        header=("Pair", "Items shared", "Split", "Percent agreement", "Cohen’s κ"),
        rows=tuple(_pair(reading, each, to) for each in found),
        notes=(
            f"Pairs with {LEAST_SHARED} shared items or more; the {MOST_PAIRS} with most.",
            *few(each.coefficients[0] for each in found),
        ),
        empty=f"No two people share {LEAST_SHARED} items yet.",
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


def people_sheet(reading: Reading, to: To) -> Sheet:
    """Each person beside the majority of the others, and by Dawid and Skene's model."""
    found = person_reports(reading.opinions, reading.scale)
    names = [reading.label_names[label] for label in reading.scale.categories]
    return Sheet(
        name="people",
        title="Each person beside the others",
        header=(
            *("Person", "Labels", "As the others’ majority", "Stood alone"),
            *(f"{name.capitalize()} recognised" for name in names),
            "Right by the model",
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
                reading.scale.categories, each.beside_others.recalls, strict=True
            )
        ),
        text("the model did not settle")
        if modelled is None
        else Cell(modelled, "percent", url=to(person=key)),
    )


def model_sheet(reading: Reading, items: Callable[[int], tuple[str, str]]) -> Sheet:
    """Items that the model would label otherwise than the majority; `items` names and links one."""
    found: ModelReport = model_report(reading.opinions, reading.scale)
    words = reading.label_names
    rows = []
    for each in found.apart:
        name, url = items(each.item)
        majority = "a tie" if each.majority is None else words[int(str(each.majority))]
        rows.append(
            (
                text(name, url),
                text(", ".join(words[label] for label in each.labels)),
                text(majority),
                text(words[int(str(each.modelled))]),
                Cell(each.certainty, "percent"),
            )
        )
    return Sheet(
        name="model",
        title="Where the model and the majority part",
        header=("Item", "Labels", "Majority", "Model", "Certainty of the model"),
        rows=tuple(rows),
        notes=(_model_note(reading, found),),
        empty=reading.empty if not found.n_items else "They give the same label everywhere.",
    )


def _model_note(reading: Reading, found: ModelReport) -> str:
    if not found.n_items:
        return "Nothing to model yet."
    if found.prevalence is None:
        return "The model did not settle within its iterations, so it says nothing here."
    shares = ", ".join(
        f"{100 * share:.1f} % {reading.label_names[label]}"
        for label, share in zip(reading.scale.categories, found.prevalence, strict=True)
    )
    return (
        f"Over {found.n_items} items; by the model {shares}. The label of a case stays that of "
        "its rule: the model is a second look, and decides nothing."
    )
