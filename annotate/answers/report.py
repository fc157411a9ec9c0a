"""What a closed comparison says: means, preferences and how far raters agree.

docs/protocol.md 3.1. Published: machine 4.80 completeness and 4.85 quality, human 4.75 and 4.90,
over 20 queries. A query counts once, however many rated it: its points are the means over its
raters.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Final
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from annotate.answers.comparing import MEASURES, POINTS, standing_ratings
from annotate.models import AnswerComparison, AnswerRating, Preferred
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.agreement import cohen_kappa, krippendorff_alpha
from kit.stats.means import mean
from kit.stats.paired import mcnemar, paired_t, randomisation
from kit.stats.proportions import proportion
from kit.stats.ratings import from_triples
from kit.stats.results import Estimate, p_words

SIDES: Final = ("human", "model")
_MOST_RATERS: Final = 12
_NOBODY: Final = "Nobody has rated yet."


def report(comparison: AnswerComparison) -> list[ReportTable]:
    """Every table of a closed comparison, its numbers linked to the ratings behind them."""
    rows = list(standing_ratings(comparison))
    url = reverse("comparison-ratings", args=[comparison.benchmark.slug, comparison.pk])
    return [
        _means(rows, comparison.seed, url),
        _preferences(rows, url),
        _agreement(rows, url),
        _domains(rows, url),
        _order(rows),
    ]


def _by_query(rows: Sequence[AnswerRating], name: str) -> list[float]:
    """The mean of this number over the raters of each query."""
    given: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        given[row.pair.query_id].append(getattr(row, name))
    return [sum(points) / len(points) for _, points in sorted(given.items())]


def _means(rows: Sequence[AnswerRating], seed: int, url: str) -> ReportTable:
    made = []
    for what, name in MEASURES.items() if rows else ():
        human, model = (_by_query(rows, f"{side}_{what}") for side in SIDES)
        apart = np.subtract(model, human)
        made.append(
            (
                text(name),
                *(measured(mean(each), "coefficient") for each in (human, model, apart.tolist())),
                Cell(paired_t(apart).p, "p"),
                Cell(randomisation(apart, seed=seed).p, "p"),
                Cell(len(apart), url=url),
            )
        )
    return ReportTable(
        "means",
        "Points from 1 to 5",
        (
            *("Measure", "Person", "Model", "Model minus person"),
            *("p, paired t", "p, randomisation", "Queries"),
        ),
        tuple(made),
        notes=(
            "A query counts once: its points are the means over its raters. Intervals are "
            "Student's, 95 %. A p value stays empty where all differences are equal.",
        ),
        empty=_NOBODY,
    )


def _preferences(rows: Sequence[AnswerRating], url: str) -> ReportTable:
    counted = Counter(row.preferred for row in rows)
    made = [
        (
            text(label.capitalize()),
            Cell(counted[value], url=url),
            percent(proportion(counted[value], len(rows))),
        )
        for value, label in Preferred.choices
        if rows
    ]
    leaning: Counter[int] = Counter()
    for row in rows:
        leaning[row.pair.query_id] += (row.preferred == "model") - (row.preferred == "human")
    model = sum(value > 0 for value in leaning.values())
    human = sum(value < 0 for value in leaning.values())
    value = mcnemar(human, model)
    p = f"{p_words(value)}, exact sign test" if value is not None else "The two never differ."
    note = (
        f"Of {len(leaning):,} queries, most raters prefer the person's answer in {human:,} and the "
        f"model's in {model:,} ({p})."
    )
    return ReportTable(
        "preferences",
        "Which answer is better",
        ("Preferred", "Ratings", "Share"),
        tuple(made),
        notes=(note,) if rows else (),
        empty=_NOBODY,
    )


def _agreement(rows: Sequence[AnswerRating], url: str) -> ReportTable:
    made = []
    for what, name in MEASURES.items() if rows else ():
        given = from_triples(
            [
                ((row.pair_id, side), row.rater.username, getattr(row, f"{side}_{what}"))
                for row in rows
                for side in SIDES
            ],
            categories=POINTS,
            scores=POINTS,
        )
        alpha = krippendorff_alpha(given, "interval")
        made.append(coefficient_row(name, "all raters, α (interval)", alpha, url))
        place_of = {str(rater): place for place, rater in enumerate(given.raters)}
        for one, other in combinations(sorted(place_of)[:_MOST_RATERS], 2):
            kappa = cohen_kappa(given.pair(place_of[one], place_of[other]), "quadratic")
            if kappa.n_items:
                made.append(coefficient_row(name, f"{one} and {other}, quadratic κ", kappa, url))
    return ReportTable(
        "agreement",
        "How far raters agree",
        ("Measure", "Who and how", "Agreement", "Answers", "Why not"),
        tuple(made),
        notes=("An item is one answer. Answers that one person rated alone say nothing here.",),
        empty=_NOBODY,
    )


def coefficient_row(name: str, who: str, found: Estimate, url: str) -> tuple[Cell, ...]:
    """How far raters agree on a measure, with its interval, or why nothing can be said."""
    return (
        text(name),
        text(who),
        Cell(found.value, "coefficient", found.low, found.high),
        Cell(found.n_items, url=url),
        text(found.reason),
    )


def _domains(rows: Sequence[AnswerRating], url: str) -> ReportTable:
    made = []
    for domain in sorted({row.pair.query.domain.name for row in rows}):
        own = [row for row in rows if row.pair.query.domain.name == domain]
        here = f"{url}?{urlencode({'domain': domain})}"
        means = [mean(_by_query(own, f"{side}_{what}")) for what in MEASURES for side in SIDES]
        made.append(
            (
                text(domain),
                Cell(len({row.pair_id for row in own}), url=here),
                *(measured(each, "coefficient") for each in means),
            )
        )
    heads = ("Completeness, person", "Completeness, model", "Quality, person", "Quality, model")
    return ReportTable(
        "domains", "Domain by domain", ("Domain", "Queries", *heads), tuple(made), empty=_NOBODY
    )


def _order(rows: Sequence[AnswerRating]) -> ReportTable:
    sided = [row for row in rows if row.preferred != Preferred.NEITHER]
    first = sum((row.preferred == Preferred.HUMAN) == row.human_first for row in sided)
    name = text("The one shown first is preferred")
    share = percent(proportion(first, len(sided)))
    return ReportTable(
        "order",
        "Whether the order mattered",
        ("What", "Ratings", "Of those with a preference", "Share"),
        ((name, Cell(first), Cell(len(sided)), share),) if sided else (),
        notes=("Far from a half, raters followed the order and not the answers.",),
        empty="Nobody has preferred an answer yet.",
    )
