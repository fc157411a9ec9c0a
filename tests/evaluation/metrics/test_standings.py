"""Ranks that know how sure they are: paired draws over tasks."""

import numpy as np
import pytest

from evaluation.metrics.standings import kendall_tau, rank_shifts, ranks_of, standings, task_means
from kit.stats.means import bootstrap_macro

NAN = float("nan")


def test_means_are_over_queries_with_a_value_and_then_over_tasks() -> None:
    tasks = [np.array([[1.0, 0.0, NAN], [0.5, 0.5, NAN]]), np.array([[1.0], [0.0]])]
    first, second = standings(tasks, seed=1)
    assert (first.mean, second.mean) == (0.75, 0.25)
    assert (first.rank, second.rank) == (1, 2)
    assert task_means(np.array([[NAN, NAN]])).tolist() == pytest.approx([NAN], nan_ok=True)


def test_who_misses_a_task_stands_outside_the_ranks() -> None:
    tasks = [np.array([[0.1], [0.9], [0.5]]), np.array([[0.1], [NAN], [0.5]])]
    found = standings(tasks, seed=1)
    assert [each.rank for each in found] == [2, None, 1]
    assert found[1].mean is None


def test_a_system_that_is_better_on_every_query_keeps_its_rank_in_every_draw() -> None:
    rng = np.random.default_rng(5)
    hard = rng.random(30) * 0.5
    better, worse = standings([np.stack([hard + 0.1, hard])], seed=2)
    assert (better.rank_low, better.rank_high, better.first) == (1, 1, 1.0)
    assert (worse.rank_low, worse.rank_high) == (2, 2)
    # Their intervals overlap all the same: what is hard for one is hard for both.
    assert better.low < worse.high


def test_equal_systems_share_the_better_rank() -> None:
    values = np.random.default_rng(1).random(20)
    first, second = standings([np.stack([values, values])], seed=1)
    assert (first.rank, second.rank, first.rank_high) == (1, 1, 1)
    assert ranks_of(np.array([0.2, 0.9, 0.2])).tolist() == [2, 1, 2]


def test_equal_means_share_a_rank_in_whatever_order_they_are_summed() -> None:
    thirds = np.array([1 / 3, 1 / 7, 1 / 9, 2 / 3, 1 / 11, 0.1, 0.7])
    orders = [np.random.default_rng(n).permutation(thirds) for n in range(20)]
    assert len({order.mean() for order in orders}) > 1  # rounding tells them apart
    assert {each.rank for each in standings([np.stack(orders)], seed=1)} == {1}
    first = np.array([order.mean() for order in orders])
    assert np.isnan(kendall_tau(first[None], first[None])).all()  # nothing is ranked apart


def test_queries_without_a_value_leave_every_draw_whole() -> None:
    # Of three queries one has a value: without it a draw would rank nobody.
    found = standings([np.array([[0.9, NAN, NAN], [0.1, NAN, NAN]])], seed=1)
    assert [(each.rank, each.rank_low, each.rank_high) for each in found] == [(1, 1, 1), (2, 2, 2)]
    assert [each.first for each in found] == [1.0, 0.0]


def test_a_draw_in_which_a_system_has_no_value_ranks_nobody() -> None:
    # The first has a value for one query of two: a quarter of the draws miss it.
    found = standings([np.array([[0.1, NAN], [0.9, 0.8]])], seed=1)
    assert [(each.rank_low, each.rank_high) for each in found] == [(2, 2), (1, 1)]
    *_, won, _ = rank_shifts(
        [np.array([[0.1, NAN], [0.9, 0.8]])], [np.array([[0.2, NAN], [0.9, 0.8]])], seed=1
    )
    assert [(each.low, each.high) for each in won] == [(0, 0), (0, 0)]


def test_intervals_are_those_of_the_plain_bootstrap() -> None:
    rng = np.random.default_rng(3)
    tasks = [rng.random((1, 80)), rng.random((1, 40))]
    [found] = standings(tasks, seed=7, resamples=20_000)
    plain = bootstrap_macro([task[0] for task in tasks], seed=8, resamples=20_000)
    assert found.mean == pytest.approx(plain.value)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.004)


def test_nothing_to_rank_is_no_error() -> None:
    assert standings([], seed=1) == []
    assert standings([np.full((2, 3), NAN)], seed=1)[0].rank is None
