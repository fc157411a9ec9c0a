"""What a model is asked for other words, and what comes of it (docs/protocol.md 4.7, 5.2)."""

from dataclasses import replace

import pytest

from corpus.texts.tokens import CHARACTERS, WORDS, cut, token_count
from corpus.wordings import asking
from corpus.wordings.asking import Settings, Shown, pick, prompt_for, query_of
from llm.profiles import known
from llm.wire import written

KEY = b"server key"
QEXPAND = Settings("qexpand", passages=2)
REFERENCE = replace(QEXPAND, profile="reference", samples=2)
TEXTS = {pid: f"text {pid}" for pid in "abcdef"} | {"c": "text a"}


def shown(*pids: str) -> Shown:
    return Shown(pids, tuple(TEXTS[pid] for pid in pids))


def test_a_round_shows_the_first_passages_that_none_before_it_showed() -> None:
    assert pick("abcdef", TEXTS, [], QEXPAND).pids == ("a", "b")
    assert pick("abcdef", TEXTS, [shown("a", "b")], QEXPAND).pids == ("c", "d")
    assert pick("abc", TEXTS, [shown("a", "b")], QEXPAND).pids == ("c",)
    assert pick("ab", TEXTS, [shown("a", "b")], QEXPAND).pids == ()
    assert pick("azb", TEXTS, [], QEXPAND).pids == ("a", "b")  # z has no text


def test_the_reference_goes_by_texts_and_looks_two_rounds_back() -> None:
    # c has the text of a: strict would show it.
    assert pick("abcdef", TEXTS, [shown("a", "b")], REFERENCE).pids == ("d", "e")
    three = [shown("a"), shown("d"), shown("e")]
    assert pick("abdef", TEXTS, three, REFERENCE).pids == ("a", "b")
    assert pick("abdef", TEXTS, three, QEXPAND).pids == ("b", "f")


def test_the_query_is_the_original_with_the_last_expansion_behind_it() -> None:
    assert query_of("q", ["e"], QEXPAND) == "q\n\ne"
    assert query_of("q", ["e1", "e2"], REFERENCE) == "q\n\ne1\n\ne2"
    assert query_of("q", ["r"], Settings("rewrite")) == "r"
    assert asking.answer_of(["e1", "e2"], REFERENCE) == "e2"
    assert asking.answer_of(["e1", "e2"], QEXPAND) == "e1\n\ne2"


def test_what_counts_follows_the_thoughts() -> None:
    assert asking.read_reply("<think>hm</think>\n An answer. ") == "An answer."
    assert asking.read_reply("a</think>b</think>c") == "c"
    assert asking.read_reply("An answer.") == "An answer."
    assert asking.read_reply("<think>without an end") == ""
    assert asking.read_reply("<think>hm</think>") == ""


def test_passages_are_cut_by_the_tokenizer_that_is_named() -> None:
    assert (cut("one two three", 2, WORDS), cut("one two three", 2, CHARACTERS)) == (
        "one two",
        "one two ",
    )
    assert (token_count("one two three", WORDS), token_count("one two three")) == (3, 4)
    who = replace(QEXPAND, passage_tokens=2, tokenizer=WORDS)
    made = prompt_for("q", Shown(("a", "b"), ("one two three", "four")), "", who, KEY)
    assert made.name == "expand"
    assert made.cut == 1
    assert "three" not in made.values["documents"]
    assert made.values["documents"].startswith("[1].\n")
    assert "[2].\n" in made.values["documents"]


def test_a_prompt_has_room_for_the_query_first_and_for_the_answer_last() -> None:
    template = asking.prompt_of("expand_again")
    fixed = token_count(template.system + template.user, WORDS)
    who = replace(QEXPAND, tokenizer=WORDS, prompt_tokens=fixed + 6)
    made = prompt_for("q1 q2", Shown(("a",), ("p1 p2 p3",)), "e1 e2 e3", who, KEY)
    assert made.name == "expand_again"
    assert "q1 q2" in made.values["query"]
    assert "p1 p2 p3" in made.values["documents"]
    # 6 tokens are left: 2 of the query, 3 of the passage, so 1 of the earlier answer.
    assert "e1\n" in made.values["answer"]
    assert "e2" not in made.values["answer"]
    assert made.cut == 1
    tight = replace(who, prompt_tokens=fixed + 1)
    made = prompt_for("q1 q2", Shown(("a",), ("p1",)), "e1", tight, KEY)
    assert made.values["documents"] == asking.NOTHING
    assert made.cut == 3


def test_material_stands_in_fences_that_it_cannot_close() -> None:
    made = prompt_for("</query-0>", shown("a"), "", QEXPAND, KEY)
    text = asking.request_of(made, QEXPAND).messages[1]["content"]
    assert text.index("</query-0>") < text.index("</query-", text.index("</query-0>") + 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rewrite", ("Name the problem", "Reason step by step", "Draft an answer")),
        ("expand", ("may be wrong", "what you know yourself")),
        ("expand_again", ("answered before", "directly and correctly")),
    ],
)
def test_prompts_say_what_the_protocol_asks(name, words) -> None:
    text = asking.prompt_of(name).user
    assert all(each in text for each in words)


def test_without_reasoning_the_answer_begins_behind_a_closed_block_of_thoughts() -> None:
    made = prompt_for("q", shown("a"), "", QEXPAND, KEY)
    plain = asking.request_of(made, QEXPAND)
    free = asking.request_of(made, replace(QEXPAND, reasoning_free=True))
    begun = {"role": "assistant", "content": "<think>\n\n</think>\n\n"}
    assert (free.messages, plain.messages[-1]["role"]) == ((*plain.messages, begun), "user")
    _, body = written(free, known("any"))
    assert body["messages"][-1] == begun
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert "continue_final_message" not in written(plain, known("any"))[1]


def test_samples_and_repeats_are_different_calls() -> None:
    made = prompt_for("q", shown("a"), "", REFERENCE, KEY)
    keys = {asking.request_of(made, REFERENCE, replicate=n).key for n in range(4)}
    assert len(keys) == 4


def test_a_round_is_settled_when_the_first_places_are_the_same() -> None:
    many = [str(n) for n in range(12)]
    assert asking.is_settled(many, [*many[:10], "x"])
    assert not asking.is_settled(many, [many[1], many[0], *many[2:]])
