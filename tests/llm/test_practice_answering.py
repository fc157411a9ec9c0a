"""The practice model as who answers from passages and as who grades that: the documented rule."""

import pytest

from llm.practice.rules import free_grade
from llm.practice.searching import extracted, graded, points_of_100

QUESTION = "Why do moths circle around street lamps?"


def test_it_answers_with_the_sentence_that_shares_most_words() -> None:
    passages = ["Moths fly. Lamps glow.", "At night moths circle lamps. Bread."]
    assert extracted(QUESTION, passages) == "At night moths circle lamps."
    assert extracted(QUESTION, ["Bread is baked."]) == "No relevant information found."
    assert extracted(QUESTION, []) == "No relevant information found."


def test_it_grades_by_shared_words() -> None:
    # Three of five words of the true answer are there: .6.
    assert graded(["moths circle lamps every night"], "Moths circle lamps.") == "True"
    assert graded(["moths circle lamps every night in summer"], "Moths circle lamps.") == "False"
    assert graded([], "Moths.") == "False"
    assert points_of_100("moths circle lamps every night", "Moths circle lamps.") == (
        "REASON: 60% of the words are there.\nSCORE: 60"
    )


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        ("Only True or False.", "True"),
        ("REASON and then SCORE.", "REASON: 100% of the words are there.\nSCORE: 100"),
    ],
)
def test_a_grade_is_asked_for_by_its_blocks(ask, expected) -> None:
    blocks = {"query": "Why SCORE?", "reference": "(1) The light.", "answer": "Light!"}
    if "SCORE" in ask:
        blocks["reference"] = "The light."
    code = "0123456789abcdef"
    text = "\n\n".join(f"<{t}-{code}>\n{said}\n</{t}-{code}>" for t, said in blocks.items())
    assert free_grade(f"{text}\n\n{ask}") == expected
    assert free_grade(ask) is None
