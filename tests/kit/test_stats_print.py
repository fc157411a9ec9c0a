"""Published data with published values; skipped where the data are absent."""

import csv
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from kit.stats.agreement import (
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from kit.stats.dawid_skene import dawid_skene
from kit.stats.intervals import delta
from kit.stats.kappa import WEIGHTS, cohen_statistic, complete_codes, distinct
from kit.stats.ratings import Ratings, from_columns, from_triples

# Printed kappas of the judges of the LLMJudge challenge against the human labels.
JUDGES = {
    "Olz-gpt4o": 0.2625,
    "NISTRetrieval-instruct0": 0.1877,
    "NISTRetrieval-instruct1": 0.1874,
    "NISTRetrieval-instruct2": 0.1880,
    "NISTRetrieval-reason0": 0.1844,
    "NISTRetrieval-reason1": 0.1845,
    "NISTRetrieval-reason2": 0.1838,
}


def rows_of(path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def test_fleiss_1971_diagnoses(shared) -> None:
    _, *rows = rows_of(shared / "agreement" / "irr" / "diagnoses.csv")
    names = sorted({label for row in rows for label in row})
    ratings = from_columns(list(zip(*rows, strict=True)), categories=names)
    assert [int(column) for column in ratings.counts.sum(axis=0)] == [26, 26, 30, 55, 43]
    assert round(fleiss_kappa(ratings).value, 4) == 0.4302
    assert fleiss_kappa(ratings).n_items == 30
    # irr's "exact kappa" of the same data.
    assert round(conger_kappa(ratings).value, 3) == 0.442


def test_krippendorff_2011_example(shared) -> None:
    _, *rows = rows_of(shared / "agreement" / "krippendorff2011_example.csv")
    columns = [[int(cell) if cell else None for cell in row] for row in zip(*rows, strict=True)]
    ratings = from_columns(columns[1:], categories=range(1, 6), scores=range(1, 6))
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    found = {level: krippendorff_alpha(ratings, level) for level in printed}
    assert {level: round(each.value, 3) for level, each in found.items()} == printed
    assert {each.n_items for each in found.values()} == {11}


def test_vision_is_the_same_from_counts_and_from_labels(shared) -> None:
    _, *rows = rows_of(shared / "agreement" / "irr" / "vision_contingency.csv")
    grades = {name: grade for grade, name in enumerate(sorted({row[0] for row in rows}))}
    cells = np.array([(grades[right], grades[left]) for right, left, _ in rows])
    counts = np.array([float(row[2]) for row in rows])
    ratings = from_columns(np.repeat(cells, counts.astype(int), axis=0).T, categories=range(4))
    # 1520 + 1512 + 1772 + 492 of 7,477 women.
    assert percent_agreement(ratings).value == pytest.approx(5296 / 7477)
    assert round(cohen_kappa(ratings).value, 3) == 0.595
    for weights in WEIGHTS:
        statistic = cohen_statistic(cells, np.arange(4.0), weights)
        summed = float(statistic.value(statistic.totals(counts)))
        assert cohen_kappa(ratings, weights).value == pytest.approx(summed, abs=1e-12)


def test_anxiety_has_hardly_more_agreement_than_chance(shared) -> None:
    _, *rows = rows_of(shared / "agreement" / "irr" / "anxiety.csv")
    columns = [[int(cell) for cell in row] for row in zip(*rows, strict=True)]
    estimate = fleiss_kappa(from_columns(columns, categories=range(1, 7)))
    assert round(estimate.value, 4) == -0.0411
    assert estimate.interval.low < 0 < estimate.interval.high


def labels_of(path) -> dict[tuple[str, str], int]:
    with path.open(encoding="utf-8") as lines:
        parts = [line.split() for line in lines]
    return {(query, passage): int(label) for query, _, passage, label in parts}


def test_llm_judges_against_people(shared) -> None:
    human = labels_of(shared / "llmjudge" / "human_test_qrels.txt")
    found = {}
    for name in JUDGES:
        judge = labels_of(shared / "llmjudge" / "submissions" / f"{name}.txt")
        pairs = [[human[key] for key in human], [judge[key] for key in human]]
        estimate = cohen_kappa(from_columns(pairs, categories=range(4)))
        found[name] = round(estimate.value, 4)
        assert estimate.n_items == 4423
    assert found == JUDGES


def rte(shared) -> tuple[Ratings, dict[str, str]]:
    with (shared / "agreement" / "snow2008" / "rte.tsv").open(encoding="utf-8") as lines:
        _, *rows = (line.rstrip("\n").split("\t") for line in lines)
    triples = [(item, worker, label) for item, worker, label, _ in rows]
    return from_triples(triples, categories=("0", "1")), {row[0]: row[3] for row in rows}


def test_rte_majority_and_dawid_skene(shared) -> None:
    ratings, gold = rte(shared)
    assert (len(ratings.items), ratings.n_labels) == (800, 8000)
    right = 0.0
    for item, counts in zip(ratings.items, ratings.counts, strict=True):
        best = [label for label, n in zip("01", counts, strict=True) if n == counts.max()]
        right += (gold[item] in best) / len(best)
    assert round(right / 800, 4) == 0.8969
    fit = dawid_skene(ratings)
    hits = Counter(
        gold[item] == label for item, label in zip(ratings.items, fit.labels, strict=True)
    )
    assert fit.converged
    # Snow et al. 2008 report that weighing the workers' errors lifts the majority by 3 points.
    assert hits[True] / 800 > 0.92


def test_husbands_and_wives() -> None:
    # Hout, Duncan and Sobel 1987: kappa .1293 (error .0686), linear .2374 (error .0783).
    table = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]
    cells = [(i, j) for i in range(4) for j in range(4) for _ in range(table[i][j])]
    ratings = from_columns(list(zip(*cells, strict=True)), categories=range(4))
    units, counts = distinct(complete_codes(ratings))
    found = [
        tuple(round(x, 4) for x in delta(cohen_statistic(units, ratings.scores, w), counts))
        for w in WEIGHTS[:2]
    ]
    assert found == [(0.1293, 0.0686), (0.2374, 0.0783)]
