"""The JSON ladder: what is read, on which rung, and what is left to a person."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.parsing import (
    EMBEDDED,
    FENCED_BLOCK,
    MAX_CHARS,
    STRIPPED_FENCE,
    WHOLE,
    Parsed,
    ParseFailure,
    read_object,
)

NO = {"response": "no"}
NO_TEXT = '{"response": "no"}'


def read(text: str) -> Parsed | ParseFailure:
    return read_object(text, "response")


@pytest.mark.parametrize(
    ("text", "rung"),
    [
        (NO_TEXT, WHOLE),
        (f"\ufeff\n  {NO_TEXT}\n", WHOLE),
        (f"```json\n{NO_TEXT}\n```", STRIPPED_FENCE),
        (f"```{NO_TEXT}```", STRIPPED_FENCE),
        (f"```json {NO_TEXT} ```", STRIPPED_FENCE),
        (f"Here is my answer:\n```json\n{NO_TEXT}\n```\nThank you.", FENCED_BLOCK),
        (f"Some code: ```x = 1``` and my answer:\n```\n{NO_TEXT}\n```", FENCED_BLOCK),
        (f"I decided. {NO_TEXT} That is all.", EMBEDDED),
        (f"[{NO_TEXT}]", EMBEDDED),
        (f'{{"verdict": {NO_TEXT}}}', EMBEDDED),
        (f'Notes: {{"steps": 3}}. Answer: {NO_TEXT}', EMBEDDED),
        (f"The set {{x : x > 0}} is no answer. {NO_TEXT}", EMBEDDED),
        (f"<think>yes? no? {{'response': 'yes'}}</think>{NO_TEXT}", WHOLE),
        (f'<think>draft: {{"response": "yes"}}</think>\n```json\n{NO_TEXT}\n```', STRIPPED_FENCE),
        (f'a </think> b {{"response": "yes"}} </think> so: {NO_TEXT}', EMBEDDED),
    ],
)
def test_one_object_is_read_on_its_rung(text: str, rung: int) -> None:
    assert read(text) == Parsed(NO, rung)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "I cannot help with that.",
        "null",
        "[]",
        '"response"',
        '{"answer": "no"}',
        '{"Response": "no"}',
        '{"response": "no"',
        '{"response": "no", "reason": "cut o',
        "{'response': 'no'}",
        '{"response": no}',
        '{"response": NaN}',
        '{"response": "no", }',
        '{"response": ' + "9" * 5000 + "}",
        "```json\n{\n```",
        "``````",
        "```",
        "<think>" + NO_TEXT,
        NO_TEXT + "</think>",
        NO_TEXT + "</think> I would say no.",
        json.dumps(NO_TEXT),
    ],
)
def test_nothing_to_read_is_a_failure_that_keeps_the_text(text: str) -> None:
    failure = read(text)
    assert isinstance(failure, ParseFailure)
    assert failure.raw == text
    assert failure.reason.endswith((".", ")")) or "not usable JSON" in failure.reason


YES_TEXT = '{"response": "yes"}'


@pytest.mark.parametrize(
    "text",
    [
        f"{YES_TEXT} {NO_TEXT}",
        f"{YES_TEXT}\n{YES_TEXT}",
        f"[{YES_TEXT}, {NO_TEXT}]",
        f"```json\n{YES_TEXT}\n```\nor\n```json\n{NO_TEXT}\n```",
        f"First I thought {YES_TEXT}.\n```json\n{NO_TEXT}\n```",
        '{"response": "no", "response": "yes"}',
        '{"response": "no", "draft": {"response": "yes"}}',
        f"{{'response': 'yes'}} but {NO_TEXT}",
        f"“response”: “yes” but {NO_TEXT}",
    ],
)
def test_a_second_verdict_makes_the_answer_unreadable(text: str) -> None:
    assert isinstance(read(text), ParseFailure)


@pytest.mark.parametrize(
    "text",
    [
        # Quoted from the passage without escapes, so that the outer object is broken.
        f'{{"reference": ["it says {YES_TEXT} here"], "response": "no"}}',
        # The same, cut off before the verdict of its own.
        f'{{"reason": "it says {YES_TEXT} but',
        f'Well {{"reference": [{YES_TEXT}], "reason": "cut',
    ],
)
def test_a_verdict_inside_a_broken_object_is_not_found(text: str) -> None:
    assert isinstance(read(text), ParseFailure)


QUOTED = [YES_TEXT, f"```json\n{YES_TEXT}\n```", '"response": "yes"', f"</think>{YES_TEXT}"]
FRAMES = ["{}", "```json\n{}\n```", "<think>hm</think>{}", "I looked closely. {} Done."]


@pytest.mark.parametrize(("quoted", "frame"), list(itertools.product(QUOTED, FRAMES))[:-1])
def test_a_verdict_quoted_inside_a_string_is_only_text(quoted: str, frame: str) -> None:
    answer = {"reference": [quoted], "response": "no"}
    parsed = read(frame.replace("{}", json.dumps(answer)))
    assert isinstance(parsed, Parsed)
    assert parsed.value == answer


def test_a_quoted_end_of_thought_amid_prose_cannot_be_told_from_a_real_one() -> None:
    text = FRAMES[-1].replace("{}", json.dumps({"reference": [QUOTED[-1]], "response": "no"}))
    assert isinstance(read(text), ParseFailure)


def test_characters_that_no_database_stores_are_replaced() -> None:
    parsed = read(r'{"response": "no", "reason": ["a\u0000b", "\ud800"]}')
    assert isinstance(parsed, Parsed)
    assert parsed.value["reason"] == ["a\N{REPLACEMENT CHARACTER}b", "\N{REPLACEMENT CHARACTER}"]


HOSTILE = {
    "open braces": "{" * 1_000_000,
    "open objects": '{"a":' * 300_000,
    "closed nesting": '{"a":' * 300_000 + "1" + "}" * 300_000,
    "arrays inside": '{"response":' + "[" * 500_000,
    "shallow but too deep": '{"response":' + "[" * 60 + "]" * 60 + "}",
    "fences": "```" * 300_000,
    "fence and blanks": "```" + " " * 1_000_000,
    "thoughts": "</think>" * 200_000,
    "small objects": '{"a":1}' * 20_000,
    "broken starts": '{"a" ' * 300_000,
    "backslashes": '{"' + "\\" * 1_000_000,
    "quotes": '"' * 1_000_000,
    "blanks in braces": ("{" + " " * 1000) * 1000,
    "too long": " " * (MAX_CHARS + 1),
}


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(text, id=name) for name, text in HOSTILE.items()),
        pytest.param('{"a":1}' * 200_000, id="more small objects", marks=pytest.mark.slow),
    ],
)
def test_hostile_text_is_refused(text: str) -> None:
    assert isinstance(read(text), ParseFailure)


fragments = st.sampled_from(
    [NO_TEXT, YES_TEXT, "{", "}", '"', "```", "json", "\n", "</think>", "<think>", "\\", "[", ","]
)


@given(st.lists(fragments | st.text(max_size=8), max_size=12).map("".join))
def test_reading_is_total(text: str) -> None:
    assert isinstance(read(text), Parsed | ParseFailure)


@given(st.lists(fragments | st.text(max_size=8), max_size=12).map("".join))
def test_what_is_read_has_the_key_and_can_be_stored(text: str) -> None:
    parsed = read(text)
    if isinstance(parsed, Parsed):
        assert "response" in parsed.value
        json.dumps(parsed.value, ensure_ascii=False).encode()


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.lists(st.text(max_size=9))),
    st.sampled_from(["yes", "no"]),
)
def test_any_flat_object_survives_prose_around_it(extra: dict[str, object], verdict: str) -> None:
    value = {**extra, "response": verdict}
    text = f"My answer:\n```json\n{json.dumps(value)}\n```\nI am sure."
    parsed = read(text)
    if "think>" not in text and "\\u0000" not in text:
        assert parsed == Parsed(value, FENCED_BLOCK)
