"""The idempotence key: everything that can change the answer is in it, and nothing else."""

import dataclasses

import pytest

from tests.llm.stub import ask


def test_key_is_the_same_for_the_same_question() -> None:
    assert ask().key == ask().key
    assert ask(schema={"a": 1, "b": 2}).key == ask(schema={"b": 2, "a": 1}).key
    assert ask(temperature=0).key == ask(temperature=0.0).key
    assert len(ask("\ud800").key) == 64  # a lone surrogate


def test_key_is_pinned_so_that_paid_answers_are_found_again() -> None:
    assert ask().key == "e0750a35ec58da8ba86121025c04c7fc39086c90b586a41289dd32db2cd482de"


CHANGES = {
    "endpoint": "other",
    "role": "filter",
    "model": "stub-2",
    "messages": ({"role": "system", "content": "Is it so?"},),
    "schema_name": "is_supported",
    "schema": {"type": "object", "required": ["x"]},
    "temperature": 0.7,
    "reasoning_effort": "high",
    "top_p": 0.9,
    "max_tokens": 128,
    "seed": 7,
    "replicate": 1,
    "logprobs": True,
    "tools": ({"name": "search", "description": "", "parameters": {}},),
    "earlier": "0" * 64,
    "prefix_length": 1,
}


@pytest.mark.parametrize(("field", "value"), CHANGES.items())
def test_key_changes_with_every_field(field: str, value: object) -> None:
    assert ask(**{field: value}).key != ask().key


def test_every_field_is_covered_by_the_test_above() -> None:
    assert {field.name for field in dataclasses.fields(ask())} == set(CHANGES)


def test_key_does_not_mix_neighbouring_fields() -> None:
    assert ask(role="ab", model="c").key != ask(role="a", model="bc").key
