"""The practice model as a search agent and as its judge: the documented rule."""

import json

import pytest

from llm.practice.blocks import Material
from llm.practice.rules import ROLES
from llm.practice.writing import next_query, quoted_answer

QUESTION = "Why do moths circle around street lamps during warm summer nights?"


def hits(**texts: str) -> str:
    return json.dumps([{"docid": pid, "snippet": text} for pid, text in texts.items()])


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([], "moths circle around street lamps"),
        # What was found holds moths and lamps: the next words are those that nothing holds.
        ([hits(a="Moths and lamps.")], "circle around street during warm"),
        ([hits(a="Moths."), hits(a="Moths.")], None),  # nothing new
        ([hits(a="Moths."), hits()], None),
        ([hits(a=QUESTION)], None),  # all is covered
        ([hits(a="1"), hits(b="2"), hits(c="3"), hits(d="4")], None),  # four searches
        (['{"error": "The index is away."}'], None),
    ],
)
def test_it_searches_with_the_words_that_nothing_holds_yet(outputs, expected) -> None:
    assert next_query(QUESTION, outputs) == expected


def test_a_question_without_telling_words_is_searched_as_it_is() -> None:
    assert next_query("Is it so?", []) == "Is it so?"


def test_it_answers_by_quoting_with_citations() -> None:
    evidence = {"a/1.txt": "Bread. Moths circle lamps [1] at night.", "b": "", "c": "Warm summer."}
    assert quoted_answer(QUESTION, evidence) == (
        "Answer: Moths circle lamps 1 at night [a/1.txt]. Warm summer [c].\nConfidence: 56 %"
    )
    assert quoted_answer(QUESTION, {}) == "Answer: Nothing was found.\nConfidence: 0 %"


def test_it_judges_by_the_words_of_the_aspects() -> None:
    aspects = {"a1": "Moths circle lamps", "a2": "warm air rises quickly", "a3": "owls"}
    named = tuple(("aspect", f"Aspect {name}:", text) for name, text in aspects.items())
    given = Material("", ("Moths circle lamps. Warm air.",), "", "", named=named)
    # All words; two of four; none: 1, .5, 0, so 1 + round(4 * .5) = 3.
    said = ROLES["rubric_judge"](given).value
    assert said["aspect_scores"] == {"a1": 1.0, "a2": 0.5, "a3": 0.0}
    assert said["overall_quality"] == 3
    pair = ROLES["likert_judge"](given).value
    assert (pair["completeness"], pair["overall_quality"]) == (3, 3)
