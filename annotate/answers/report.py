"""What a closed comparison says: means, preferences and how far raters agree.

docs/protocol.md 3.1. Published: machine 4.80 completeness and 4.85 quality, human 4.75 and 4.90,
over 20 queries. A query counts once, however many rated it: its points are the means over its
raters.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from annotate.answers.rating import MEASURES
from annotate.models import AnswerComparison, AnswerRating, Preferred
from kit.sheets import Cell, Sheet, measured, percent, text
from kit.stats.agreement import cohen_kappa, krippendorff_alpha
from kit.stats.means import mean
from kit.stats.paired import PairedTest, mcnemar, paired_t, randomisation
from kit.stats.proportions import proportion
from kit.stats.ratings import from_columns, from_triples
from kit.stats.results import Estimate

SCALE: Final = (1, 2, 3, 4, 5)
_MOST_RATERS: Final = 12

Link = Callable[[str], str]
"""Where the ratings behind a number are listed: of a domain, or of all for ""."""


@dataclass(frozen=True)
class Row:
    """One standing rating with its query's domain."""

    query: int
    domain: str
    rater: str
    points: dict[str, int]  # "human_quality" and so on
    preferred: str
    human_first: bool


def read_rows(comparison: AnswerComparison) -> list[Row]:
    """The ratings that count."""
    names = [f"{side}_{what}" for side in ("human", "model") for what in MEASURES]
    rows = AnswerRating.objects.standing().filter(pair__comparison=comparison).order_by("pk")
    columns = ("pair__query", "pair__query__domain__name", "rater__username")
    found = rows.values_list(*columns, "preferred", "human_first", *names)
    return [
        Row(query, domain, rater, dict(zip(names, points, strict=True)), preferred, first)
        for query, domain, rater, preferred, first, *points in found
    ]


def report(comparison: AnswerComparison, link: Link) -> list[Sheet]:
    """Every table of a closed comparison."""
    rows = read_rows(comparison)
    return [
        _means(rows, comparison.seed, link),
        _preferences(rows, link),
        _agreement(rows, link),
        _domains(rows, link),
        _order(rows),
    ]


def differences(rows: Sequence[Row], what: str) -> list[float]:
    """Model minus human, one value a query."""
    human, model = _by_query(rows, f"human_{what}"), _by_query(rows, f"model_{what}")
    return [model[query] - human[query] for query in human]


def _by_query(rows: Sequence[Row], name: str) -> dict[int, float]:
    given: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        given[row.query].append(row.points[name])
    return {query: sum(points) / len(points) for query, points in sorted(given.items())}


def _means(rows: Sequence[Row], seed: int, link: Link) -> Sheet:
    made = []
    for what, name in MEASURES.items() if rows else ():
        apart = differences(rows, what)
        array = np.array(apart)
        made.append(
            (
                text(name),
                measured(mean(list(_by_query(rows, f"human_{what}").values())), "coefficient"),
                measured(mean(list(_by_query(rows, f"model_{what}").values())), "coefficient"),
                measured(mean(apart), "coefficient"),
                _p(paired_t(array)),
                _p(randomisation(array, seed=seed)),
                Cell(len(apart), url=link("")),
            )
        )
    return Sheet(
        "means",
        "Points from 1 to 5",
        (
            "Measure",
            "Person",
            "Model",
            "Model minus person",
            "p, paired t",
            "p, randomisation",
            "Queries",
        ),
        tuple(made),
        notes=(
            "A query counts once: its points are the means over its raters. Intervals are "
            "Student's, 95 %. A p value stays empty where all differences are equal.",
        ),
        empty="Nobody has rated yet.",
    )


def _p(test: PairedTest) -> Cell:
    return Cell(test.p, "coefficient")


def _preferences(rows: Sequence[Row], link: Link) -> Sheet:
    counted = Counter(row.preferred for row in rows)
    made = [
        (
            text(label.capitalize()),
            Cell(counted[value], url=link("")),
            percent(proportion(counted[value], len(rows))),
        )
        for value, label in Preferred.choices
        if rows
    ]
    leaning: Counter[int] = Counter()
    for row in rows:
        leaning[row.query] += (row.preferred == "model") - (row.preferred == "human")
    model = sum(value > 0 for value in leaning.values())
    human = sum(value < 0 for value in leaning.values())
    test = mcnemar(human, model)
    p = f"p = {test.p_value:.3f}, exact sign test" if test.p_value is not None else test.reason
    note = (
        f"Of {len(leaning):,} queries, most raters prefer the person's answer in {human:,} and the "
        f"model's in {model:,} ({p})."
    )
    return Sheet(
        "preferences",
        "Which answer is better",
        ("Preferred", "Ratings", "Share"),
        tuple(made),
        notes=(note,) if rows else (),
        empty="Nobody has rated yet.",
    )


def _agreement(rows: Sequence[Row], link: Link) -> Sheet:
    made = []
    for what, name in MEASURES.items() if rows else ():
        triples = [
            ((row.query, side), row.rater, row.points[f"{side}_{what}"])
            for row in rows
            for side in ("human", "model")
        ]
        alpha = krippendorff_alpha(
            from_triples(triples, categories=SCALE, scores=SCALE), "interval"
        )
        made.append(_coefficient(name, "all raters, α (interval)", alpha, link))
        of_rater: defaultdict[str, dict[tuple[int, str], int]] = defaultdict(dict)
        for item, rater, value in triples:
            of_rater[rater][item] = value
        for one, other in combinations(sorted(of_rater)[:_MOST_RATERS], 2):
            shared = sorted(of_rater[one].keys() & of_rater[other].keys())
            if not shared:
                continue
            columns = [[of_rater[rater][item] for item in shared] for rater in (one, other)]
            both = from_columns(columns, categories=SCALE, scores=SCALE)
            kappa = cohen_kappa(both, "quadratic")
            made.append(_coefficient(name, f"{one} and {other}, quadratic κ", kappa, link))
    return Sheet(
        "agreement",
        "How far raters agree",
        ("Measure", "Who and how", "Agreement", "Answers", "Why not"),
        tuple(made),
        notes=("An item is one answer. Answers that one person rated alone say nothing here.",),
        empty="Nobody has rated yet.",
    )


def _coefficient(name: str, who: str, found: Estimate, link: Link) -> tuple[Cell, ...]:
    return (
        text(name),
        text(who),
        Cell(found.value, "coefficient", found.low, found.high),
        Cell(found.n_items, url=link("")),
        text(found.reason),
    )


def _domains(rows: Sequence[Row], link: Link) -> Sheet:
    made = []
    for domain in sorted({row.domain for row in rows}):
        own = [row for row in rows if row.domain == domain]
        cells = [text(domain), Cell(len({row.query for row in own}), url=link(domain))]
        for what in MEASURES:
            for side in ("human", "model"):
                values = list(_by_query(own, f"{side}_{what}").values())
                cells.append(measured(mean(values), "coefficient"))
        made.append(tuple(cells))
    heads = ("Completeness, person", "Completeness, model", "Quality, person", "Quality, model")
    return Sheet(
        "domains",
        "Domain by domain",
        ("Domain", "Queries", *heads),
        tuple(made),
        empty="Nobody has rated yet.",
    )


def _order(rows: Sequence[Row]) -> Sheet:
    sided = [row for row in rows if row.preferred != Preferred.NEITHER]
    first = sum((row.preferred == Preferred.HUMAN) == row.human_first for row in sided)
    made = [
        (
            text("The one shown first is preferred"),
            Cell(first),
            Cell(len(sided)),
            percent(proportion(first, len(sided))),
        )
    ]
    return Sheet(
        "order",
        "Whether the order mattered",
        ("What", "Ratings", "Of those with a preference", "Share"),
        tuple(made) if sided else (),
        notes=("Far from a half, raters followed the order and not the answers.",),
        empty="Nobody has preferred an answer yet.",
    )
