"""What counts as a readable turn, and what is flagged in it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.dream.turns import SCHEMA, read_response, read_turn
from debate.dream.types import Agent, Pair, Quote, Turn
from llm.parsing import ParseFailure

PAIR = Pair("Why do moths circle lamps?", ("They tilt.",), "Moths tilt toward\nthe light.")
AGENT = Agent("A", "relevant", "model-1", "practice")
GOOD = {"reference": ["Moths tilt toward the light."], "reason": "It says so.", "response": "yes"}


def read(text: str, **options: Any) -> Turn | ParseFailure:
    return read_turn(text, PAIR, agent=AGENT, round=1, **options)


def read_with(**changes: Any) -> Turn:
    turn = read(json.dumps({**GOOD, **changes}))
    assert isinstance(turn, Turn)
    return turn


def test_good_answer_becomes_a_turn() -> None:
    turn = read_with()
    assert (turn.round, turn.agent, turn.stance) == (1, "A", "relevant")
    assert (turn.response, turn.label, turn.reason, turn.flags) == ("yes", 1, "It says so.", ())
    assert turn.references == (Quote("Moths tilt toward the light.", 0, 28),)
    assert turn.rung is not None


def test_repaired_answer_is_flagged() -> None:
    turn = read(json.dumps(GOOD), repaired=True)
    assert isinstance(turn, Turn)
    assert turn.flags == ("repaired",)


@pytest.mark.parametrize(
    "value", ["yes", "Yes", " YES. ", '"yes"', "**yes**", "`yes`", "«yes»", "yes!", True]
)
def test_response_says_yes(value: object) -> None:
    assert read_response(value) == "yes"


@pytest.mark.parametrize("value", ["no", "No.", "(NO)", "_no_", "no,\n", False])
def test_response_says_no(value: object) -> None:
    assert read_response(value) == "no"


@pytest.mark.parametrize(
    "value",
    ["", "...", "yes or no", "yes, no", "not no", "y", "true", "¬yes", "ye s", "yesno", "не yes",
     "yes\u0338", "ja", 1, 0, None, ["yes"], {"yes": True}],
)  # fmt: skip
def test_response_that_is_neither_makes_the_answer_unreadable(value: object) -> None:
    assert read_response(value) is None
    raw = json.dumps({**GOOD, "response": value})
    failure = read(raw)
    assert isinstance(failure, ParseFailure)
    assert failure.raw == raw


@pytest.mark.parametrize(
    "text", ["", "yes", '{"reason": "no response"}', '{"response": "yes"', "[]", "null"]
)
def test_text_without_an_object_that_responds_is_unreadable(text: str) -> None:
    assert isinstance(read(text), ParseFailure)


@pytest.mark.parametrize(("words", "flags"), [(100, ()), (101, ("long_reason",))])
def test_reason_over_a_hundred_words_is_flagged(words: int, flags: tuple[str, ...]) -> None:
    assert read_with(reason="word " * words).flags == flags


@pytest.mark.parametrize("reason", [None, "", "  ", 7, ["a"]])
def test_missing_reason_is_flagged_and_the_answer_still_counts(reason: object) -> None:
    turn = read_with(reason=reason)
    assert (turn.label, turn.reason, turn.flags) == (1, "", ("no_reason",))


def test_quote_that_is_not_in_the_passage_is_flagged_and_kept() -> None:
    turn = read_with(reference=["Moths turn toward the light."])
    assert turn.references == (Quote("Moths turn toward the light.", None, None),)
    assert turn.flags == ("quote_not_found",)


@pytest.mark.parametrize("reference", [None, [], [""], [3, None], {}])
def test_yes_without_evidence_is_flagged(reference: object) -> None:
    assert read_with(reference=reference).flags == ("no_quote",)


def test_no_without_evidence_is_not_flagged() -> None:
    assert read_with(reference=[], response="no").flags == ()


def test_single_quote_without_its_list_is_read() -> None:
    assert read_with(reference="Moths tilt").references == (Quote("Moths tilt", 0, 10),)


@pytest.mark.parametrize(("number", "flags"), [(20, ()), (21, ("many_quotes",))])
def test_quotes_beyond_twenty_are_left_out_and_flagged(number: int, flags: tuple[str, ...]) -> None:
    turn = read_with(reference=["Moths", " "] * number)
    assert turn.references == (Quote("Moths", 0, 5),) * 20
    assert turn.flags == flags


def test_flags_speak_of_the_quotes_that_are_kept() -> None:
    assert read_with(reference=["Moths"] * 20 + ["owls"]).flags == ("many_quotes",)


@pytest.mark.parametrize(("length", "flags"), [(5_000, ()), (5_001, ("cut_reason",))])
def test_endless_reason_is_cut_and_flagged(length: int, flags: tuple[str, ...]) -> None:
    turn = read_with(reason="x" * length)
    assert (turn.reason, turn.flags) == ("x" * 5_000, flags)


def test_reason_that_was_cut_is_still_counted_in_words() -> None:
    turn = read_with(reason="x" * 5_000 + " y" * 100)
    assert turn.flags == ("long_reason", "cut_reason")


def test_endless_quote_that_stands_nowhere_is_cut_and_flagged() -> None:
    turn = read_with(reference=["x" * 5_001])
    assert turn.references == (Quote("x" * 5_000, None, None),)
    assert turn.flags == ("quote_not_found", "cut_quote")


def test_quote_stretched_by_blanks_keeps_its_words_and_place() -> None:
    turn = read_with(reference=["Moths" + " " * 9_000 + "tilt"])
    assert (turn.references, turn.flags) == ((Quote("Moths tilt", 0, 10),), ())


def test_signs_that_cannot_be_stored_are_replaced() -> None:
    turn = read_with(reason="a\x00b\ud800c", reference=["Moths\x00"])
    assert turn.reason == "a\ufffdb\ufffdc"
    assert turn.references[0].text == "Moths\ufffd"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.text() | st.fixed_dictionaries(dict.fromkeys(GOOD, ANYTHING)).map(json.dumps))
def test_reading_never_raises(text: str) -> None:
    assert isinstance(read(text), Turn | ParseFailure)


def test_schema_is_strict_and_asks_for_what_is_read() -> None:
    assert SCHEMA["required"] == list(SCHEMA["properties"]) == list(GOOD)
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["properties"]["response"]["enum"] == ["yes", "no"]
