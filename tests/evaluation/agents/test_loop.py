"""The search agent as a generator, driven with lists (docs/protocol.md 3.4)."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from corpus.texts.tokens import CHARACTERS, WORDS, cut
from evaluation.agents.protocol.asking import AgentSettings, Task, citations, read_answer
from evaluation.agents.protocol.loop import FINISHED, MAX_ITERATIONS, Trace, search_agent
from evaluation.agents.protocol.tools import (
    Hit,
    Lookup,
    ToolFault,
    ToolSettings,
    definitions,
)
from kit.errors import Refused
from llm.requests import Reply, Request

KEY = b"server key"
TEXTS = {f"d{number}": f"Text of document {number}." for number in range(12)}


def said(text: str = "", *calls: tuple[str, str], call_id: int = 0) -> Reply:
    """A reply that calls tools, each as (name, arguments)."""
    tools = [
        {"id": f"c{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    return Reply(text, None, 0.0, tool_calls=tools, call_id=call_id)


def search(query: str) -> tuple[str, str]:
    return "search", json.dumps({"query": query})


def found(lookup: Lookup) -> Any:
    """A retriever in which a query lists the documents that it names."""
    if lookup.text == "broken":
        return ToolFault("The index is away.")
    if lookup.tool == "get_document":
        return [Hit(lookup.text, None, TEXTS[lookup.text])] if lookup.text in TEXTS else []
    return [Hit(pid, 1.0, TEXTS[pid]) for pid in lookup.text.split()]


def drive(replies: Sequence[Reply], asked: list[Request] | None = None, **options: Any) -> Trace:
    """Run an agent that says these things in turn; "answer" is what it says from evidence."""
    excluded = options.pop("excluded", ())
    steps = search_agent(Task("Why?", excluded), AgentSettings("e", "m", **options), KEY)
    rest, step = iter(replies), next(steps)
    try:
        while True:
            answers: list[Any] = []
            for each in step:
                if isinstance(each, Lookup):
                    answers.append(found(each))
                    continue
                if asked is not None:
                    asked.append(each)
                is_answer = each.role == "evidence_answer"
                answers.append(said("Answer: So.\nConfidence: 40%") if is_answer else next(rest))
            step = steps.send(answers)
    except StopIteration as end:
        trace: Trace = end.value
        return trace


def test_the_agent_searches_until_it_stops_by_itself() -> None:
    asked: list[Request] = []
    end = said("I know.\nAnswer: It is so [d1].\nConfidence: 85 %", call_id=7)
    trace = drive([said("Looking.", search("d1 d2")), said("", search("d3")), end], asked)
    assert trace.status == FINISHED
    assert [[use.docids for use in turn.uses] for turn in trace.turns] == [
        [("d1", "d2")],
        [("d3",)],
        [],
    ]
    (answer,) = trace.answers
    assert (answer.round, answer.text, answer.confidence, answer.call) == (
        3,
        "It is so [d1].",
        85.0,
        7,
    )
    # Each turn asks with all that was said, and each holds 30,000 tokens of its own.
    assert [len(each.messages) for each in asked] == [2, 4, 6]
    assert {each.max_tokens for each in asked} == {30_000}
    assert asked[2].messages[-1] == {
        "role": "tool",
        "tool_call_id": "c0",
        "content": '[{"docid": "d3", "score": 1.0, "snippet": "Text of document 3."}]',
    }
    assert asked[1].earlier == asked[0].key


def test_several_searches_of_a_turn_are_all_carried_out_and_kept_apart() -> None:
    trace = drive([said("", search("d1"), search("d2 d1")), said("Answer: x")])
    assert [use.docids for use in trace.turns[0].uses] == [("d1",), ("d2", "d1")]


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (("search", '{"query": ""}'), []),
        (("search", '{"query": "  "}'), []),
        (("search", "{not json"), {"error": "search needs the argument query, a text."}),
        (("search", '["query"]'), {"error": "search needs the argument query, a text."}),
        (("search", '{"query": 5}'), {"error": "search needs the argument query, a text."}),
        (("search", '{"query": "broken"}'), {"error": "The index is away."}),
        (("get_document", '{"docid": "d1"}'), {"docid": "d1", "text": TEXTS["d1"]}),
        (("get_document", '{"docid": "d99"}'), {"error": "There is no document 'd99'."}),
        (("get_document", '{"docid": "d5"}'), {"error": "There is no document 'd5'."}),
        (
            ("shell", "{}"),
            {"error": "There is no tool 'shell'. There is: search, get_document."},
        ),
        (("search", '{"query": "d5 d6"}'), [{"docid": "d6", "score": 1.0, "snippet": TEXTS["d6"]}]),
    ],
)
def test_what_a_tool_answers_never_ends_the_run(call, output) -> None:
    """Errors are outputs; d5 is excluded and is never shown."""
    asked: list[Request] = []
    tools = ToolSettings(documents=True)
    trace = drive([said("", call), said("Answer: x")], asked, tools=tools, excluded={"d5"})
    assert json.loads(asked[1].messages[-1]["content"]) == output
    assert trace.status == FINISHED


def test_reading_whole_documents_is_off_unless_it_is_wanted() -> None:
    assert [tool["name"] for tool in definitions(ToolSettings())] == ["search"]
    trace = drive([said("", ("get_document", '{"docid": "d1"}')), said("Answer: x")])
    assert trace.turns[0].uses[0].fault == "There is no tool 'get_document'. There is: search."


def test_a_list_is_cut_at_k_and_names_a_document_once() -> None:
    trace = drive([said("", search("d1 d1 d2 d3 d4 d5 d6 d7")), said("Answer: x")])
    assert trace.turns[0].uses[0].docids == ("d1", "d2", "d3", "d4", "d5")


@pytest.mark.parametrize(
    ("tokenizer", "tokens", "expected"),
    [
        (CHARACTERS, 2, "one  two"),
        (WORDS, 2, "one  two"),
        (WORDS, 9, "one  two three"),
        (WORDS, 0, ""),
    ],
)
def test_snippets_are_cut_by_a_named_tokenizer(tokenizer, tokens, expected) -> None:
    assert cut("one  two three", tokens, tokenizer) == expected


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(Refused, match="no tokenizer 'gpt'"):
        cut("a", 1, "gpt")


def test_the_agent_is_stopped_behind_the_last_iteration() -> None:
    trace = drive([said("Still.", search("d1"))] * 4, max_iterations=4)
    assert (trace.status, len(trace.turns)) == (MAX_ITERATIONS, 4)
    assert trace.answers[0].text == "Still."  # the last message is what there is


def test_fixed_rounds_are_answered_from_the_evidence_alone() -> None:
    asked: list[Request] = []
    rounds = [said("", search("d1 d2")), said("", search("d2 d3")), said("", search("d4"))]
    trace = drive(rounds, asked, rounds=3)
    assert [(each.round, each.text, each.confidence) for each in trace.answers] == [
        (1, "So.", 40.0),
        (2, "So.", 40.0),
        (3, "So.", 40.0),
    ]
    answers = [each for each in asked if each.role == "evidence_answer"]
    assert {each.max_tokens for each in answers} == {10_000}
    assert not any(each.tools for each in answers)
    texts = [each.messages[-1]["content"] for each in answers]
    shown = [[pid for pid in TEXTS if f"[{pid}]\n" in text] for text in texts]
    assert shown == [["d1", "d2"], ["d1", "d2", "d3"], ["d1", "d2", "d3", "d4"]]
    assert len(trace.turns) == 3  # nothing is asked behind the last round


def test_an_agent_that_stops_early_still_gets_every_answer() -> None:
    asked: list[Request] = []
    trace = drive([said("", search("d1")), said("Enough.")], asked, rounds=3)
    assert [each.round for each in trace.answers] == [1, 2, 3]
    # The evidence does not change behind round 1: one question, asked and paid for once.
    assert sum(each.role == "evidence_answer" for each in asked) == 1
    never = drive([said("I know already.")], asked, rounds=2)
    assert [each.text for each in never.answers] == ["So.", "So."]
    assert "(no document was found)" in asked[-1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "answer", "confidence"),
    [
        ("Answer: A [x].\nConfidence: 80%", "A [x].", 80.0),
        ("**Answer:** A\nB\n**Confidence:** 12.5 %", "A\nB", 12.5),
        ("Thinking. Answer: no line start\nAnswer: yes", "yes", None),
        ("Only words", "Only words", None),
        ("Confidence: 10%\nAnswer: A\nConfidence: 20%", "A", 20.0),
        ("Answer: A\nConfidence: 140%", "A", None),
        ("", "", None),
    ],
)
def test_the_answer_and_its_confidence_are_read(text, answer, confidence) -> None:
    found = read_answer(text, 1)
    assert (found.text, found.confidence) == (answer, confidence)


def test_citations_are_read_once_each() -> None:
    assert citations("One [a/b.txt]. Two [c][a/b.txt]. Three [d, e].") == ("a/b.txt", "c", "d", "e")


def test_repetitions_are_drawn_apart() -> None:
    first = next(search_agent(Task("Why?"), AgentSettings("e", "m"), KEY))[0]
    again = next(search_agent(Task("Why?", repetition=1), AgentSettings("e", "m"), KEY))[0]
    assert isinstance(first, Request)
    assert isinstance(again, Request)
    assert first.key != again.key
