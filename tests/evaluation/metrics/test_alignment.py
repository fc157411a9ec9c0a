"""docs/protocol.md 6.8."""

import numpy as np
import pytest
from scipy import stats

from evaluation.metrics.alignment import (
    Alignment,
    fisher_interval,
    point_biserial,
    rag_align,
    system_pearson,
)

R = [1, 1, 0, 1, 0, 0, 1, 0]
G = [1, 0, 0, 1, 1, 0, 1, 0]
X = [0.9, 0.5, 0.1, 0.8, 0.6, 0.0, 0.7, 0.2]


def test_rag_align_and_its_four_cells() -> None:
    found = rag_align(R, G)
    assert found == Alignment(hit_correct=3, hit_wrong=1, miss_correct=1, miss_wrong=3)
    assert found.share == 6 / 8
    assert rag_align([], []).share is None


def test_point_biserial_is_pearson() -> None:
    # M1 = (.9 + .8 + .6 + .7) / 4 = .75, M0 = .8 / 4 = .2, s = .337004.
    expected = (0.75 - 0.20) / np.std(X, ddof=1) * np.sqrt(4 * 4 / (8 * 7))
    assert point_biserial(X, G) == pytest.approx(expected)
    assert point_biserial(X, G) == pytest.approx(0.872357, abs=1e-6)
    assert point_biserial(X, G) == pytest.approx(np.corrcoef(X, G)[0, 1])


@pytest.mark.parametrize(
    ("values", "outcomes"), [(X, [1] * 8), (X, [0] * 8), ([0.3] * 8, G), ([], [])]
)
def test_point_biserial_is_undefined(values, outcomes) -> None:
    assert point_biserial(values, outcomes) is None


def test_what_is_no_outcome_or_no_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="An outcome is 0 or 1"):
        rag_align([2], [1])
    with pytest.raises(ValueError, match="1 values stand beside 2"):
        rag_align([1], [1, 0])


def test_pearson_over_systems() -> None:
    hits, answers = [0.65, 0.80, 0.50, 0.54], [0.40, 0.52, 0.31, 0.30]
    expected = pytest.approx(np.corrcoef(hits, answers)[0, 1])
    assert system_pearson(hits, answers) == expected


@pytest.mark.parametrize("pair", [([0.5], [0.5]), ([0.5, 0.5], [0.1, 0.2]), ([], [])])
def test_pearson_is_undefined(pair) -> None:
    assert system_pearson(*pair) is None


def test_a_correlation_has_the_interval_of_fishers_z() -> None:
    value = system_pearson(X, R)
    found = fisher_interval(value, 8)
    assert found is not None
    expected = stats.pearsonr(X, R).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    # One that is taken out counts as an item less.
    assert fisher_interval(value, 9, given=1) == found
    assert [fisher_interval(value, 3), fisher_interval(1.0, 8), fisher_interval(None, 8)] == [
        None, None, None
    ]  # fmt: skip
