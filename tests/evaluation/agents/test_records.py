"""Records of agents' runs in every shape that is read and written."""

import json

import pytest

from evaluation.agents.protocol.measures import alpha_by_round
from evaluation.agents.protocol.records import RecordFault, read_record, written
from tests.evaluation.agents.test_measures import ASPECTS, ROUNDS


def output(ids: list[str]) -> str:
    return json.dumps([{"docid": pid, "score": 1.5, "snippet": "x"} for pid in ids])


def reference() -> dict:
    result = [{"type": "output_reasoning", "output": ["Let me see."]}]
    for number, ids in ROUNDS.items():
        called = {"tool_name": "search", "call_id": f"c{number}", "round": number}
        result += [
            {"type": "tool_call", "arguments": f'{{"query": "q{number}"}}', **called},
            {"type": "tool_result", "output": output(ids), "docids": ids, **called},
        ]
    result += [
        {"type": "final_answer", "output": f"Answer: A{n} [d1].\nConfidence: 70%", "round": n}
        for n in (1, 2, 3)
    ]
    return {"metadata": {"model": "gpt-5-mini"}, "query_id": "7", "status": "completed",
            "result": result}  # fmt: skip


def released() -> dict:
    """Without rounds and ids of results; answers by their type."""
    result = []
    for number, ids in ROUNDS.items():
        call = {"tool_name": "search", "arguments": f'{{"query": "q{number}"}}', "round": number}
        result += [
            {"type": "tool_call", **call},
            {"type": "tool_result", "tool_name": "search", "output": output(ids)},
        ]
    answers = [
        {"type": f"final_answer_round_{n}", "output": f"Answer: A{n} [d1].\nConfidence: 70%"}
        for n in (1, 2, 3)
    ]
    return {**reference(), "task": "biology", "result": [*result, *answers]}


def browsecomp() -> dict:
    """Each call with its result, no rounds, the answer as the last text."""
    calls = [
        {"type": "tool_call", "tool_name": "search", "arguments": f'{{"query": "q{number}"}}',
         "output": output(ids)}
        for number, ids in ROUNDS.items()
    ]  # fmt: skip
    text = {"type": "output_text", "output": "Answer: A3 [d1].\nConfidence: 70%"}
    return {**reference(), "result": [*calls, text]}


def messages() -> dict:
    found: list[dict] = [{"role": "user", "content": "Why?"}]
    for number, ids in ROUNDS.items():
        function = {"name": "search", "arguments": f'{{"query": "q{number}"}}'}
        found += [
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output(ids)},
        ]
    found.append({"role": "assistant", "content": "Answer: A3 [d1].\nConfidence: 70%"})
    return {"query_id": 7, "messages": found}


@pytest.mark.parametrize("shape", [reference, released, browsecomp, messages])
def test_every_shape_gives_the_same_rounds_and_measures(shape) -> None:
    record = read_record(shape())
    rounds = {turn.round: [pid for use in turn.uses for pid in use.docids] for turn in record.turns}
    assert {number: ids for number, ids in rounds.items() if ids} == ROUNDS
    found = alpha_by_round(rounds, ASPECTS, 3)
    assert [round(value, 6) for value in found] == [0.551214, 0.682111, 0.809810]
    assert [use.text for turn in record.turns for use in turn.uses] == ["q1", "q2", "q3"]
    last = record.answers[-1]
    assert (last.text, last.confidence) == ("A3 [d1].", 70.0)
    assert record.query_id == "7"


def stopped_early() -> dict:
    """The agent said in a message what the answers of all three rounds say."""
    text = "Answer: A [d1].\nConfidence: 70%"
    calls = [each for each in reference()["result"] if each["type"].startswith("tool_")]
    answers = [{"type": "final_answer", "output": text, "round": n} for n in (1, 2, 3)]
    said = {"type": "output_text", "output": [text]}
    return {**reference(), "result": [*calls, said, *answers]}


@pytest.mark.parametrize("shape", ["reference", "released"])
@pytest.mark.parametrize("source", [reference, released, browsecomp, messages, stopped_early])
def test_what_is_written_is_read_again_as_it_was(source, shape) -> None:
    record = read_record(source())
    made = written(record, shape=shape, usage={"input_tokens": 5}, metadata={"model": "m"})
    assert made["retrieved_round_count"] == 3
    assert made["retrieved_documents_id"][:5] == ROUNDS[1]
    again = read_record(json.loads(json.dumps(made)))
    assert [(a.round, a.text, a.confidence) for a in again.answers] == [
        (a.round, a.text, a.confidence) for a in record.answers
    ]
    kept = [(t.round, u.docids, u.scores) for t in again.turns for u in t.uses]
    assert kept == [(t.round, u.docids, u.scores) for t in record.turns for u in t.uses]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([], "a JSON object"),
        ({"result": []}, "query_id is missing"),
        ({"query_id": True, "result": []}, "query_id is missing"),
        ({"query_id": "1"}, "result is no list"),
        ({"query_id": "1", "metadata": 5, "result": []}, "metadata is no object"),
        ({"query_id": "1", "result": [5]}, "item 1: a type is missing"),
        ({"query_id": "1", "result": [{"type": "poem"}]}, "'poem' is unknown"),
        ({"query_id": "1", "result": [{"type": "tool_call", "round": 0}]}, "round is no whole"),
        (
            {"query_id": "1", "result": [{"type": "tool_result", "docids": "d1"}]},
            "docids is no list",
        ),
        (
            {"query_id": "1", "result": [{"type": "final_answer", "output": "a", "round": 1}] * 2},
            "two answers of one round",
        ),
        ({"query_id": "1", "messages": [{"content": "x"}]}, "a role is missing"),
        (
            {"query_id": "1", "messages": [{"role": "tool", "tool_call_id": "c9"}]},
            "no call has the id 'c9'",
        ),
    ],
)
def test_a_faulty_record_says_where(data, why) -> None:
    with pytest.raises(RecordFault, match=why):
        read_record(data)
