"""How much a transaction of the text index writes follows how long the last one took."""

import pytest
from django.db import connection

from corpus.texts import indexing as indexing_pace
from corpus.texts.indexing import Pace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that stand still but for what a test adds, and no sleep."""

    class Clock:
        now = 0.0
        slept = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.slept += seconds

    made = Clock()
    monkeypatch.setattr(indexing_pace, "time", made)
    monkeypatch.setattr(indexing_pace, "one_writer_at_a_time", lambda: True)
    return made


def write(pace: Pace, clock, seconds: float) -> int:
    with pace.writing():
        assert connection.in_atomic_block
        clock.now += seconds
    assert not connection.in_atomic_block
    return pace.size


def test_size_follows_the_time_that_others_waited_within_bounds(clock) -> None:
    pace = Pace(500)
    assert write(pace, clock, 0.16) == 250  # twice as long as it should
    assert write(pace, clock, 0.04) == 500
    assert write(pace, clock, 30.0) == 100
    assert write(pace, clock, 0.0201) == 398
    assert [write(pace, clock, 0.021) for _ in range(3)][-1] == 1_000


def test_others_get_a_turn_after_what_took_time(clock) -> None:
    pace = Pace(500)
    write(pace, clock, 0.001)
    assert (clock.slept, pace.size) == (0, 500)
    write(pace, clock, 0.08)
    assert clock.slept > 0.05


def test_nobody_waits_where_all_may_write(clock, monkeypatch) -> None:
    monkeypatch.setattr(indexing_pace, "one_writer_at_a_time", lambda: False)
    pace = Pace(500)
    assert write(pace, clock, 30.0) == 500
    assert clock.slept == 0
