"""The practice model as who answers from passages and as who grades that: the documented rule."""

import pytest

from llm.practice.blocks import Material
from llm.practice.rules import ROLES
from llm.practice.writing import free_grade

QUESTION = "Why do moths circle around street lamps?"


CODE = "0123456789abcdef"


def fenced(**blocks: str) -> str:
    return "\n\n".join(f"<{t}-{CODE}>\n{said}\n</{t}-{CODE}>" for t, said in blocks.items())


def test_it_answers_with_the_sentence_that_shares_most_words() -> None:
    def answer(*passages: str) -> str:
        named = tuple(("passage", f"[{n}]", text) for n, text in enumerate(passages))
        return ROLES["rag_answer"](Material(QUESTION, (), "", "", named=named)).value["Answer"]

    best = "At night moths circle lamps."
    assert answer("Moths fly. Lamps glow.", f"{best} Bread.") == best
    assert answer("Bread is baked.") == "No relevant information found."
    assert answer() == "No relevant information found."


def test_it_grades_by_shared_words() -> None:
    def graded(reference: str, answer: str, ask: str = "Only True or False.") -> str | None:
        return free_grade(f"{fenced(query='Why?', reference=reference, answer=answer)}\n\n{ask}")

    # Three of five words of the true answer are there: .6.
    assert graded("(1) moths circle lamps every night", "Moths circle lamps.") == "True"
    assert graded("(1) moths circle lamps every night in summer", "Moths circle lamps.") == "False"
    assert graded("(1) owls\n(2) moths", "Moths.") == "True"
    assert graded("", "Moths.") == "False"
    assert graded("moths circle lamps every night", "Moths circle lamps.", "SCORE") == (
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
    assert free_grade(f"{fenced(**blocks)}\n\n{ask}") == expected
    assert free_grade(ask) is None
