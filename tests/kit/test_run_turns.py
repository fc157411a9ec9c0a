"""Who goes first: places of a process, portions of its calls, and a thread for people."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from debate.models import DebateRun, HintRun
from kit.runs import turns
from kit.runs.polling import Messages
from kit.runs.turns import SLICE_S, Claimant, Priority, in_order, place

LARGE, OTHER = Claimant(("a", 1), "x", 1), Claimant(("a", 2), "x", 1)
SMALL, SAME = Claimant(("b", 3), "y", 4, True), Claimant(("a", 4), "x", 4, True)


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(turns, "time", found)
    monkeypatch.setattr(turns, "_refused", {})
    return found


@pytest.fixture
def take(settings) -> Iterator:
    """A place of two, held to the end of the test."""
    settings.ASSAY_RUNS_AT_ONCE = 2
    with ExitStack() as held:

        def enter(who: Claimant) -> turns.Turn | None:
            turn = held.enter_context(place(who))
            if turn is not None:
                turn.begin()
            return turn

        yield enter


@pytest.mark.parametrize("newcomer", [SMALL, SAME])
def test_a_small_run_begins_at_once_beside_large_ones_that_had_their_slice(
    take, clock, newcomer
) -> None:
    # Shares: 1/2 of each large one beside the other; the newcomer's 4, or 2 beside one of its own.
    first = take(LARGE)
    clock.now += 1
    second = take(OTHER)
    clock.now += SLICE_S * 0.5 / (4 if newcomer is SMALL else 2) - 1
    assert take(newcomer) is not None
    assert (first.is_over, second.is_over) == (True, False)


def test_nobody_gives_a_place_before_its_slice_nor_to_a_third_at_once(take, clock) -> None:
    for turn in [take(SMALL), take(LARGE)]:
        assert turn is not None
    assert take(OTHER._replace(scope="z")) is None
    # 40 s of weight 4 beside weight 1; the other, of weight 1, has its 10.
    clock.now += SLICE_S
    late = take(OTHER._replace(scope="z"))
    assert late is not None
    assert not late.is_over
    assert [each.is_over for each in turns._turns.values()] == [False, True, False]


def test_one_slice_that_is_over_makes_one_place(take, clock, settings) -> None:
    first, second = take(LARGE), take(SMALL)
    clock.now += SLICE_S
    others = [Claimant(("a", n), "z", 4) for n in (5, 6)]
    with place(others[0]) as newcomer, place(others[1]) as too_many:
        assert newcomer is not None
        assert too_many is None
        newcomer.begin()
    assert (first.is_over, second.is_over) == (True, False)


def test_who_finds_no_place_tries_again_when_a_slice_is_over(take, clock) -> None:
    assert None not in (take(LARGE), take(OTHER))
    assert take(SMALL) is None
    # Shares 1/2 and 4.
    clock.now += SLICE_S * 0.5 / 4
    assert turns.may_try_again() == {SMALL.key}
    assert turns.may_try_again() == set()
    assert take(SMALL) is not None
    messages, key = Messages(own_queue=True), (*SMALL.key, False, 0)
    messages.note_sent(key, now=1.0)
    messages.note_received(*SMALL.key)
    assert messages.to_send([key], now=2.0) == []
    messages.forget({SMALL.key})
    assert messages.to_send([key], now=2.0) == [key]


def test_a_run_has_one_place_in_a_process(take) -> None:
    assert take(LARGE) is not None
    assert take(LARGE) is None


def test_calls_in_flight_are_divided_by_weight_and_benchmark(take) -> None:
    alone = take(LARGE)
    assert alone.portion == 1
    beside = take(SAME)
    assert (alone.portion, beside.portion) == (1 / 4, 1)


def test_two_runs_of_a_benchmark_have_what_one_of_another_has(take, settings) -> None:
    settings.ASSAY_RUNS_AT_ONCE = 3
    found = [take(each) for each in (LARGE, OTHER, SMALL._replace(weight=1))]
    assert [each.portion for each in found] == [0.5, 0.5, 1]


def test_who_waits_goes_up_and_none_starves(clock) -> None:
    due = [(LARGE, False, "large"), (SMALL, False, "small")]
    assert in_order(due) == ["small", "large"]
    # The large one waits; small ones that come anew, weight 4, go before it for a while only.
    for number, expected in enumerate(["large", "large"], 1):
        clock.now += 10
        fresh = SMALL._replace(key=("b", 10 + number))
        assert in_order([(LARGE, False, "large"), (fresh, False, "fresh")])[0] == expected
    led = [(SMALL, True, "helped"), (LARGE, False, "large")]
    assert in_order(led) == ["large", "helped"]


def test_one_thread_is_kept_for_people_at_the_screen(monkeypatch) -> None:
    monkeypatch.setattr(turns, "threads", 3)
    monkeypatch.setattr(turns, "_busy", {1: LARGE, 2: OTHER})
    assert not turns.may_claim(SMALL, at_screen=False)
    assert turns.may_claim(SMALL, at_screen=True)
    monkeypatch.setattr(turns, "_busy", {1: LARGE})
    assert not turns.may_claim(OTHER, at_screen=False)  # the last is for what is small
    assert turns.may_claim(SMALL, at_screen=False)
    turns.end_claim()
    assert turns._busy == {1: LARGE}
    monkeypatch.setattr(turns, "_busy", {1: SMALL})
    assert not turns.may_claim(SMALL._replace(key=("b", 4)), at_screen=False)
    assert turns.may_claim(SAME, at_screen=False)


def test_a_small_run_waits_for_no_long_one_whatever_they_weigh(monkeypatch) -> None:
    monkeypatch.setattr(turns, "threads", 5)
    # Staff made the benchmark go before others: its long runs weigh as much as its small one.
    heavy = [Claimant(("a", n), "x", Priority.NORMAL) for n in range(4)]
    monkeypatch.setattr(turns, "_busy", dict(enumerate(heavy[:3])))
    small = Claimant(("b", 9), "x", Priority.NORMAL, is_small=True)
    assert not turns.may_claim(heavy[3], at_screen=False)
    for each in (small, small._replace(weight=Priority.LOW), small._replace(scope="y")):
        assert turns.may_claim(each, at_screen=False)
        turns.end_claim()
    # What weighs more than all of its benchmark may, too; of small ones of one benchmark one.
    assert turns.may_claim(heavy[3]._replace(weight=Priority.HIGH), at_screen=False)
    turns.end_claim()
    monkeypatch.setattr(turns, "_busy", dict(enumerate([*heavy[:2], small])))
    assert not turns.may_claim(small._replace(key=("b", 10)), at_screen=False)


def test_a_run_of_which_nobody_said_anything_goes_by_its_size() -> None:
    assert DebateRun.weigh(None, 200) == Priority.NORMAL
    assert DebateRun.weigh(None, 201) == Priority.LOW
    assert DebateRun.weigh(Priority.HIGH, 100_000) == 16
    assert HintRun.weigh(None, 100_000, Priority.LOW) > Priority.HIGH
    assert DebateRun.weigh(None, 100_000, Priority.NORMAL) == Priority.NORMAL
    assert DebateRun.weigh(Priority.LOW, 100_000, Priority.HIGH) == Priority.LOW
