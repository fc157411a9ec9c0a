"""What a generator is asked, what of its reply counts, and strings (docs/protocol.md 2.10)."""

import json

import pytest

from evaluation.rag.protocol.answering import (
    NO_PASSAGE,
    Generator,
    Harness,
    Strings,
    answer_request,
    has_information,
    measure,
    normalised,
    prompt_of,
    read_answers,
)

KEY = b"server key"
SHORT, LONG, CITED = (Generator("e", "m", harness) for harness in Harness)
PINNED = {
    "rag_answer": (1, "b0426eebddd4d949"),
    "rag_closed": (1, "56562ade86280af9"),
    "rag_long": (1, "90a887cc0a57985e"),
    "rag_cited": (1, "c873ca4e1c6ea19e"),
}


@pytest.mark.parametrize("role", PINNED)
def test_a_prompt_is_its_version(role) -> None:
    prompt = prompt_of(role)
    assert (prompt.version, prompt.sha256[:16], prompt.role) == (*PINNED[role], role)


@pytest.mark.parametrize(
    ("role", "rules"),
    [
        ("rag_answer", ["from nothing else", "no knowledge of your own", "no explanation"]),
        ("rag_answer", ["No relevant information found.", "one JSON object", "single key Answer"]),
        ("rag_closed", ["No relevant information found.", "single key Answer"]),
        ("rag_long", ["Think step by step", "detailed answer"]),
        ("rag_cited", ["from nothing else", "[2][5]", "No relevant information found."]),
    ],
)
def test_a_prompt_holds_its_rules(role, rules) -> None:
    text = prompt_of(role).system + prompt_of(role).user
    assert [rule for rule in rules if rule not in text] == []


def test_ten_passages_stand_in_order_with_a_blank_line_between() -> None:
    texts = [f"Passage number {n}." for n in range(1, 11)]
    request = answer_request("Why?", texts, SHORT, KEY)
    asked = request.messages[-1]["content"]
    places = [asked.index(each) for each in ["Why?", *texts]]
    assert places == sorted(places)
    assert asked.count(">\n\n[") == 9
    assert (request.temperature, request.max_tokens, request.role) == (0.0, 1024, "rag_answer")
    assert list(request.schema["properties"]) == ["Answer"]


def test_without_retrieval_no_passage_is_spoken_of_and_an_empty_list_says_so() -> None:
    assert answer_request("Why?", None, SHORT, KEY).role == "rag_closed"
    assert NO_PASSAGE in answer_request("Why?", [], SHORT, KEY).messages[-1]["content"]
    # Who may say what documents say alone would say nothing, and gains be the mean.
    assert answer_request("Why?", [], CITED, KEY).role == "rag_cited"
    assert answer_request("Why?", None, CITED, KEY).role == "rag_long"
    for passages in (None, []):
        request = answer_request("Why?", passages, LONG, KEY)
        assert (request.role, request.schema_name) == ("rag_long", "")
        assert NO_PASSAGE in request.messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('{"Answer": "Paris"}', ("Paris",)),
        ('```json\n{"Answer": "Paris"}\n```', ("Paris",)),
        ('<think>{"Answer": "Rome"}</think>{"Answer": "Paris"}', ("Paris",)),
        ('{"Answer": "the \\"light\\" city"}', ('the "light" city',)),  # the code's regex cuts it
        ('{"Answer": ["Paris", "Lyon"]}', ("Paris", "Lyon")),
        ('So: {"Answer": "Paris"} or {"Answer": "Lyon"}', ("Paris", "Lyon")),
        ('{"Answer": "Paris"', ("Paris",)),
        ("It is Paris.", ("It is Paris.",)),
        ('{"Answer": 7}', ('{"Answer": 7}',)),
        ('{"Answer": ""}', ()),
        ("", ()),
    ],
)
def test_json_is_read_first_then_what_is_written_as_an_answer_then_all(text, answers) -> None:
    assert read_answers(text, Harness.SHORT) == answers


def test_a_long_answer_is_the_whole_reply() -> None:
    assert read_answers('<think>x</think> {"Answer": "a"} ', Harness.LONG) == ('{"Answer": "a"}',)


def test_who_says_that_nothing_was_found_has_no_information() -> None:
    assert not has_information(["no relevant information found", " "])
    assert not has_information([])
    assert has_information(["No relevant information found.", "Paris"])


def test_the_worked_answer() -> None:
    # "eiffel tower paris" holds "eiffel tower": accuracy 1; they are not equal: exact 0;
    # precision 2/3, recall 2/2: F1 = 2 * 2/3 / (2/3 + 1) = .8.
    answers = read_answers(json.dumps({"Answer": "The Eiffel Tower, Paris"}), Harness.SHORT)
    assert measure(answers, ["Eiffel Tower"]) == Strings(1, 0, pytest.approx(0.8))


@pytest.mark.parametrize(
    ("answers", "truths", "expected"),
    [
        (["Paris"], ["The"], None),  # an empty true answer stands in everything
        (["Paris"], ["The", "Lyon"], (0, 0, 0.0)),
        (["Paris"], [], None),
        ([], ["Lyon"], (0, 0, 0.0)),
        (["an  APPLE!"], ["the apple"], (1, 1, 1.0)),
        (["b", "a x"], ["x y", "a x"], (1, 1, 1.0)),  # the best over pairs
        (["x x y"], ["x z"], (0, 0, 2 * 1 / 5)),  # one shared word of 3 and of 2
    ],
)
def test_strings(answers, truths, expected) -> None:
    found = measure(answers, truths)
    assert found == (expected and Strings(*expected))


def test_normalised() -> None:
    assert normalised(" The Eiffel-Tower,  a  (Paris) ") == "eiffeltower paris"
