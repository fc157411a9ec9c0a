"""A thousand random tables, with and without missing labels, beside three other libraries."""

from collections import Counter

import numpy as np
import pytest

from kit.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from kit.stats.kappa import WEIGHTS
from kit.stats.ratings import LEVELS, Ratings, from_columns


def random_tables(count):
    """(codes (raters, items) with NaN where missing, categories) of every kind of awkwardness."""
    rng = np.random.default_rng(20261120)
    for number in range(count):
        size, raters, items = rng.integers(2, 6), rng.integers(2, 6), rng.integers(2, 41)
        true = rng.choice(size, items, p=rng.dirichlet(np.ones(size)))
        noise = rng.integers(size, size=(raters, items))
        table = np.where(rng.random((raters, items)) < rng.uniform(0.3, 1), true, noise)
        table = table.astype(float)
        if number % 2:
            table[rng.random((raters, items)) < rng.uniform(0, 0.6)] = np.nan
        yield table, int(size)


def ratings_of(table, size) -> Ratings:
    columns = [[None if np.isnan(code) else int(code) for code in row] for row in table]
    return from_columns(columns, categories=range(size))


@pytest.fixture(scope="module", params=[100, pytest.param(1000, marks=pytest.mark.slow)])
def tables(request):
    return [(table, size, ratings_of(table, size)) for table, size in random_tables(request.param)]


def test_cohen_equals_statsmodels_and_scikit_learn(tables):
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    compared = 0
    for number, (table, size, ratings) in enumerate(tables):
        both = table[:2, ~np.isnan(table[:2]).any(axis=0)].astype(int)
        mine = [cohen_kappa(ratings.pair(0, 1), weights) for weights in WEIGHTS]
        if mine[0].value is None:
            assert both.shape[1] < 2 or any(len(set(row)) == 1 for row in both)
            continue
        compared += 1
        cells = np.zeros((size, size))
        np.add.at(cells, tuple(both), 1)
        names = (None, "linear", "quadratic")
        theirs = [cohens_kappa(cells, wt=name, return_results=False) for name in names]
        assert [each.value for each in mine] == pytest.approx(theirs, abs=1e-12)
        assert {each.n_items for each in mine} == {both.shape[1]}
        # scikit-learn takes its time: one kind of weights per table, by turns.
        at = number % 3
        other = cohen_kappa_score(*both, labels=range(size), weights=names[at])
        assert mine[at].value == pytest.approx(other, abs=1e-12)
    assert compared > 0.7 * len(tables)


def test_fleiss_equals_statsmodels(tables):
    from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

    compared = 0
    for table, size, ratings in tables:
        counts = np.array([(table == code).sum(axis=0) for code in range(size)]).T
        votes = Counter(int(n) for n in counts.sum(axis=1) if n >= 2)
        mine = fleiss_kappa(ratings)
        if mine.value is None:
            used = counts[counts.sum(axis=1) >= 2]
            assert len(used) < 2 or max(votes.values()) == 1 or mine.reason.startswith("Every")
            continue
        compared += 1
        chosen = max(votes, key=lambda n: (votes[n], n))
        kept = counts[counts.sum(axis=1) == chosen]
        assert mine.value == pytest.approx(statsmodels_fleiss(kept), abs=1e-12)
        assert mine.n_items == len(kept)
    assert compared > 0.9 * len(tables)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_krippendorff(tables, level):
    import krippendorff

    compared = 0
    for table, size, ratings in tables:
        mine = krippendorff_alpha(ratings, level)
        shared = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
        if mine.value is None:
            assert shared.shape[1] < 2 or len(set(shared[~np.isnan(shared)])) == 1
            continue
        compared += 1
        theirs = krippendorff.alpha(table, value_domain=range(size), level_of_measurement=level)
        assert mine.value == pytest.approx(theirs, abs=1e-10)
        assert mine.n_items == shared.shape[1]
    assert compared > 0.9 * len(tables)


def test_percent_agreement_equals_counting_pairs(tables):
    for table, _, ratings in tables[:200]:
        shares = []
        for column in table.T:
            labels = column[~np.isnan(column)]
            if len(labels) > 1:
                pairs = [a == b for i, a in enumerate(labels) for b in labels[i + 1 :]]
                shares.append(np.mean(pairs))
        mine = percent_agreement(ratings)
        if not shares:
            assert mine.value is None
        else:
            assert mine.value == pytest.approx(np.mean(shares), abs=1e-12)


def test_every_interval_holds_its_own_value_and_stays_in_range(tables):
    for _, _, ratings in tables[:300]:
        pair = ratings.pair(0, 1)
        estimates = [fleiss_kappa(ratings), percent_agreement(ratings), percent_agreement(pair)]
        estimates += [krippendorff_alpha(ratings, level) for level in LEVELS]
        estimates += [cohen_kappa(pair, weights) for weights in WEIGHTS]
        for each in estimates:
            assert (each.value is None) == bool(each.reason)
            if each.value is not None:
                assert (each.interval is None) == bool(each.interval_reason)
            if each.interval:
                lowest = 0 if each.name == "percent_agreement" else -1
                assert lowest <= each.interval.low <= each.value + 1e-12
                assert each.value - 1e-12 <= each.interval.high <= 1
