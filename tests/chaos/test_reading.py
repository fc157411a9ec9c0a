"""No label from an answer without a verdict, and none read wrong (docs/protocol.md 1.3, 2.3)."""

import pytest

from tests.chaos.reading import labels_from_unreadable, misread, read_alone, tally
from tests.chaos.replies import stream, unreadable


@pytest.mark.parametrize("count", [5_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_unreadable_answers_are_read_as_nothing(count: int) -> None:
    assert read_alone(count) == []


def test_a_debate_that_cannot_be_read_has_no_label() -> None:
    assert labels_from_unreadable(3_000) == []  # all of 50,000: make chaos


@pytest.mark.parametrize("count", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
def test_readable_answers_are_read_as_they_were_meant(count: int) -> None:
    assert misread(count) == []


@pytest.mark.parametrize("count", [5_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_the_grammars_say_many_things(count: int) -> None:
    assert min(tally(5_000).values()) > 2_000  # as often yes as no
    answers = list(stream(unreadable, seed=0, count=count))
    assert len(set(answers)) > 0.6 * count
    assert (
        sum("yes" in answer for answer in answers) > 0.3 * count
    )  # what a careless reader would take
