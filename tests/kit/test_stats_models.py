"""Dawid-Skene, class recalls and balanced accuracy, and the stopping rule."""

import itertools

import numpy as np
import pytest

from kit.stats.agreement import cohen_kappa, percent_agreement
from kit.stats.classes import class_report
from kit.stats.dawid_skene import dawid_skene
from kit.stats.planning import items_needed
from kit.stats.ratings import from_columns

TRUTH = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
GIVEN = [1, 1, 1, None, 0, 0, 0, 0, 1, None]


def test_balanced_accuracy_worked_example():
    # docs/protocol.md 6.9: recalls 3 / 3 and 4 / 5, two of ten escalated.
    report = class_report(TRUTH, GIVEN, classes=(0, 1))
    assert [recall.value for recall in report.recalls] == [0.8, 1.0]
    assert report.balanced_accuracy == pytest.approx(0.9)
    assert report.left_out.value == 0.2
    assert report.table == ((4, 1), (0, 3))


def test_balanced_accuracy_interval_combines_the_recalls():
    report = class_report(TRUTH, GIVEN, classes=(0, 1))
    below = [recall.value - recall.interval.low for recall in report.recalls]
    above = [recall.interval.high - recall.value for recall in report.recalls]
    ends = (0.9 - np.hypot(*below) / 2, 0.9 + np.hypot(*above) / 2)
    assert (report.interval.low, report.interval.high) == pytest.approx(ends)
    assert report.interval.high < 1


def test_class_without_items_has_no_recall_and_no_balanced_accuracy():
    report = class_report([0, 0], [0, 1], classes=(0, 1))
    assert report.recalls[1].value is None
    assert (report.balanced_accuracy, report.interval) == (None, None)
    assert report.reason == "No item of class 1."
    with pytest.raises(ValueError, match="outside"):
        class_report([0], [2], classes=(0, 1))
    with pytest.raises(ValueError, match="zip"):
        class_report([0], [0, 1], classes=(0, 1))


def crowd(seed=5, items=600):
    """Five raters, binary: three careful, one careless, one who says the opposite."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < 0.3).astype(int)
    rates = (0.92, 0.88, 0.85, 0.55, 0.15)
    columns = []
    for rate in rates:
        given = np.where(rng.random(items) < rate, truth, 1 - truth)
        columns.append([None if rng.random() < 0.2 else int(label) for label in given])
    return truth, rates, from_columns(columns, categories=(0, 1))


def test_dawid_skene_finds_the_raters_and_beats_the_majority():
    truth, rates, ratings = crowd()
    fit = dawid_skene(ratings)
    assert fit.converged
    assert fit.accuracy == pytest.approx(rates, abs=0.06)
    assert fit.prevalence[1] == pytest.approx(truth.mean(), abs=0.04)
    majority = (ratings.counts[:, 1] > ratings.counts[:, 0]).astype(int)
    assert np.mean(np.array(fit.labels) == truth) > np.mean(majority == truth) + 0.03
    assert fit.posterior.sum(axis=1) == pytest.approx(np.ones(600))
    assert fit.confusion.sum(axis=2) == pytest.approx(np.ones((5, 2)))


def test_dawid_skene_step_by_step_in_plain_loops():
    _, _, ratings = crowd(seed=6, items=40)
    fit = dawid_skene(ratings, max_iterations=4)
    assert (fit.iterations, fit.converged) == (4, False)
    table = ratings.codes.tolist()
    belief = [[row.count(k) / max(1, 5 - row.count(-1)) for k in (0, 1)] for row in table]
    belief = [[0.5, 0.5] if sum(each) == 0 else each for each in belief]
    for _ in range(4):
        share = [sum(each[k] for each in belief) + 0.01 for k in (0, 1)]
        share = [value / sum(share) for value in share]
        errors = np.zeros((5, 2, 2)) + 0.01
        for row, each in zip(table, belief, strict=True):
            for rater, label in enumerate(row):
                for k in (0, 1) if label >= 0 else ():
                    errors[rater, k, label] += each[k]
        errors /= errors.sum(axis=2, keepdims=True)
        for at, row in enumerate(table):
            joint = [
                share[k]
                * np.prod([errors[r, k, label] for r, label in enumerate(row) if label >= 0])
                for k in (0, 1)
            ]
            belief[at] = [value / sum(joint) for value in joint]
    assert fit.posterior == pytest.approx(np.array(belief), abs=1e-12)


def test_dawid_skene_climbs_and_is_the_same_every_time():
    _, _, ratings = crowd(items=80)
    scores = [dawid_skene(ratings, max_iterations=n).log_posterior for n in range(1, 15)]
    assert all(later >= earlier for earlier, later in itertools.pairwise(scores))
    assert np.array_equal(dawid_skene(ratings).posterior, dawid_skene(ratings).posterior)
    with pytest.raises(ValueError, match="no label"):
        dawid_skene(from_columns([(None, None)], categories=(0, 1)))


def pairs(n, seed=1):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, size=n)
    second = np.where(rng.random(n) < 0.7, first, rng.integers(0, 3, size=n))
    return from_columns([first.tolist(), second.tolist()], categories=range(3))


@pytest.mark.parametrize("measure", [cohen_kappa, percent_agreement])
def test_stopping_rule_foretells_the_width(measure):
    plan = items_needed(measure(pairs(200)), width=0.1)
    assert plan.more == plan.needed - 200
    assert measure(pairs(plan.needed, seed=2)).interval.width == pytest.approx(0.1, abs=0.012)
    assert plan.width_now == measure(pairs(200)).interval.width


def test_stopping_rule_is_exact_where_items_repeat():
    once = cohen_kappa(pairs(300))
    plan = items_needed(once, width=once.interval.width)
    assert (plan.needed, plan.more) == (300, 0)
    assert items_needed(once, width=once.interval.width * 0.999).more > 0
    assert items_needed(once, width=0.9).more == 0
    share = percent_agreement(pairs(300))
    assert items_needed(share, width=share.interval.width).needed == 300


def test_stopping_rule_after_perfect_agreement_and_without_an_interval():
    perfect = cohen_kappa(from_columns([[0, 1] * 20] * 2, categories=(0, 1)))
    plan = items_needed(perfect, width=0.1)
    # 1 - .025^(1/n) <= .1 / 2 first at n = 72.
    assert plan.needed == 72
    nothing = items_needed(cohen_kappa(from_columns([[1], [1]], categories=(0, 1))), width=0.1)
    assert (nothing.needed, nothing.more) == (None, None)
    assert nothing.reason.startswith("No interval yet. Only one item")
    for width in (0, 2, -1):
        with pytest.raises(ValueError, match="between 0 and 2"):
            items_needed(perfect, width=width)
