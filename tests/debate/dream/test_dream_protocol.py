"""The debate driven by scripted answers: no model, no network, no event loop."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.dream import (
    Answer,
    Config,
    Pair,
    Question,
    Verdict,
    debate,
    default_prompt,
    line_up,
)
from debate.dream.protocol import unanimous
from debate.dream.types import Agent, Label
from llm.errors import Permanent, Transient

KEY = b"a key for tests"
PAIR = Pair(
    query="Why do moths circle lamps?",
    answers=("They tilt their backs toward the light.", "Light upsets their sense of up."),
    passage="Moths tilt their backs toward the light and so fly in circles.",
)
SEAT = ("model-1", "practice")
TWO = Config(agents=line_up([SEAT, SEAT]), prompt=default_prompt())
GARBAGE = "I would rather not say."


def says(response: str, reason: str = "Because.") -> str:
    return json.dumps({"reference": [], "reason": reason, "response": response})


def play(config: Config, *script: Sequence[Answer]) -> tuple[Verdict, list[list[Question]]]:
    """Hold a debate with one list of answers per step; returns what was asked in each step."""
    steps = iter(script)
    return follow(config, lambda requests: list(next(steps)))


def follow(
    config: Config, answer: Callable[[list[Question]], list[Answer]]
) -> tuple[Verdict, list[list[Question]]]:
    loop = debate(PAIR, config, KEY)
    asked: list[list[Question]] = []
    try:
        asked.append(next(loop))
        while True:
            asked.append(loop.send(answer(asked[-1])))
    except StopIteration as end:
        return end.value, asked


def text(request: Question) -> str:
    return "\n".join(message["content"] for message in request.messages)


def outcome(verdict: Verdict) -> tuple[str, Label | None, int | None]:
    return verdict.status, verdict.label, verdict.round


def sizes(asked: list[list[Question]]) -> list[int]:
    return [len(requests) for requests in asked]


# The acceptance script of docs/protocol.md 2.12, item by item.


def test_two_yes_agree_in_round_one_after_two_calls() -> None:
    verdict, asked = play(TWO, [says("yes"), says("yes")])
    assert outcome(verdict) == ("agreed", 1, 1)
    assert sizes(asked) == [2]


def test_two_no_agree_in_round_one_after_two_calls() -> None:
    verdict, asked = play(TWO, [says("no"), says("no")])
    assert outcome(verdict) == ("agreed", 0, 1)
    assert sizes(asked) == [2]


def test_split_then_agreement_ends_in_round_two_after_four_calls() -> None:
    verdict, asked = play(TWO, [says("yes"), says("no")], [says("no"), says("no")])
    assert outcome(verdict) == ("agreed", 0, 2)
    assert sizes(asked) == [2, 2]


def test_two_splits_escalate_after_four_calls() -> None:
    verdict, asked = play(TWO, [says("yes"), says("no")], [says("yes"), says("no")])
    assert outcome(verdict) == ("escalated", None, None)
    assert sizes(asked) == [2, 2]


def test_malformed_answer_that_is_repaired_counts_as_any_other() -> None:
    verdict, asked = play(TWO, [GARBAGE, says("yes")], [says("yes")])
    assert outcome(verdict) == ("agreed", 1, 1)
    assert sizes(asked) == [2, 1]
    assert [turn.flags for turn in verdict.turns] == [("no_quote", "repaired"), ("no_quote",)]


def test_one_of_the_five_scripted_items_escalates_and_none_errs() -> None:
    agree_yes, agree_no = [says("yes")] * 2, [says("no")] * 2
    split = [says("yes"), says("no")]
    malformed = [GARBAGE, says("no")]
    items = (
        [agree_yes],
        [agree_no],
        [split, agree_no],
        [split, split],
        [malformed, [says("no")]],
    )
    verdicts = [play(TWO, *script)[0] for script in items]
    assert [verdict.status for verdict in verdicts].count("escalated") == 1
    assert [verdict.label for verdict in verdicts] == [1, 0, 0, None, 0]
    assert [verdict.round for verdict in verdicts] == [1, 1, 2, None, 1]


# What each turn is told.


def test_both_agents_are_asked_before_either_is_heard() -> None:
    _, asked = play(
        TWO, [says("yes", "reason of A"), says("no", "reason of B")], ["", ""], ["", ""]
    )
    assert [(request.round, request.agent.name) for request in asked[0]] == [(1, "A"), (1, "B")]
    assert not any("reason of" in text(request) for request in asked[0])


def test_history_holds_the_previous_round_only() -> None:
    script = [
        [says("yes", f"A in round {number}."), says("no", f"B in round {number}.")]
        for number in (1, 2, 3)
    ]
    _, asked = play(replace(TWO, rounds=3), *script)
    for_a, for_b = (text(request) for request in asked[2])
    assert (
        "\nAgent A (You), round 2: Yes. A in round 2.\n\nAgent B, round 2: No. B in round 2.\n"
        in for_a
    )
    assert (
        "\nAgent A, round 2: Yes. A in round 2.\n\nAgent B (You), round 2: No. B in round 2.\n"
        in for_b
    )
    for older in ("round 1", "opening position"):
        assert older not in for_a + for_b


def test_turns_keep_what_every_agent_said_in_every_round() -> None:
    verdict, _ = play(
        TWO, [says("yes", "a1"), says("no", "b1")], [says("yes", "a2"), says("no", "b2")]
    )
    assert [(t.round, t.agent, t.stance, t.label, t.reason) for t in verdict.turns] == [
        (1, "A", "relevant", 1, "a1"),
        (1, "B", "irrelevant", 0, "b1"),
        (2, "A", "relevant", 1, "a2"),
        (2, "B", "irrelevant", 0, "b2"),
    ]


# Unreadable answers and failed calls never become labels.


def test_answer_still_unreadable_after_its_repair_ends_the_debate_without_a_label() -> None:
    verdict, asked = play(TWO, [says("yes"), GARBAGE], [GARBAGE])
    assert outcome(verdict) == ("unreadable", None, None)
    assert sizes(asked) == [2, 1]
    assert [(turn.label, turn.flags) for turn in verdict.turns] == [
        (1, ("no_quote",)),
        (None, ("unreadable",)),
    ]
    assert verdict.detail != ""


def test_unreadable_answer_in_round_two_ends_the_debate_without_a_label() -> None:
    verdict, _ = play(TWO, [says("yes"), says("no")], [GARBAGE, says("no")], [GARBAGE])
    assert outcome(verdict) == ("unreadable", None, None)
    assert len(verdict.turns) == 4


def test_repair_shows_the_unreadable_answer_to_its_agent_alone() -> None:
    _, asked = play(TWO, [GARBAGE, says("yes")], [says("yes")])
    (repair,), original = asked[1], asked[0][0]
    assert (repair.is_repair, repair.agent.name, repair.round) == (True, "A", 1)
    assert repair.messages[:2] == original.messages
    assert [message["role"] for message in repair.messages[2:]] == ["assistant", "user"]
    assert repair.messages[2]["content"] == GARBAGE


def test_all_unreadable_answers_of_a_round_are_repaired_together() -> None:
    verdict, asked = play(TWO, [GARBAGE, GARBAGE], [says("no"), says("no")])
    assert outcome(verdict) == ("agreed", 0, 1)
    assert sizes(asked) == [2, 2]


@pytest.mark.parametrize("error", [Permanent("key refused"), Transient("endpoint silent")])
def test_failed_call_ends_the_debate_with_its_reason(error: Answer) -> None:
    verdict, asked = play(TWO, [says("yes"), error])
    assert outcome(verdict) == ("failed", None, None)
    assert verdict.detail == str(error)
    assert [turn.flags for turn in verdict.turns] == [("no_quote",), ("failed",)]
    assert sizes(asked) == [2]


def test_no_repair_is_paid_beside_a_failed_call() -> None:
    verdict, asked = play(TWO, [GARBAGE, Permanent("key refused")])
    assert verdict.status == "failed"
    assert sizes(asked) == [2]


def test_failed_repair_is_a_failure_and_not_unreadable() -> None:
    verdict, _ = play(TWO, [GARBAGE, says("yes")], [Transient("endpoint silent")])
    assert outcome(verdict) == ("failed", None, None)


@pytest.mark.parametrize("answers", [(), ("",), (" ", "\n")])
def test_pair_without_answers_is_skipped_and_asks_nothing(answers: tuple[str, ...]) -> None:
    loop = debate(replace(PAIR, answers=answers), TWO, KEY)
    with pytest.raises(StopIteration) as end:
        next(loop)
    assert end.value.value == Verdict("skipped_no_answer")


@pytest.mark.parametrize("answers", [[], [says("yes")], [says("yes")] * 3])
def test_wrong_number_of_answers_is_refused(answers: list[Answer]) -> None:
    with pytest.raises(ValueError, match="argument"):
        play(TWO, answers)


# Consensus.


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((1, 1), 1),
        ((0, 0), 0),
        ((1, 0), None),
        ((0, 1), None),
        ((1, None), None),
        ((None, 1), None),
        ((0, None), None),
        ((None, 0), None),
        ((None, None), None),
        ((), None),
        ((0, 0, 0, 0), 0),
        ((0, 0, 1, 0), None),
    ],
)
def test_consensus_is_one_label_given_by_all(
    labels: tuple[Label | None, ...], expected: Label | None
) -> None:
    assert unanimous(labels) == expected


@pytest.mark.parametrize("responses", list(product(["yes", "no"], repeat=4)))
def test_every_course_of_two_rounds_ends_as_the_protocol_says(responses: tuple[str, ...]) -> None:
    a1, b1, a2, b2 = responses
    verdict, asked = play(TWO, [says(a1), says(b1)], [says(a2), says(b2)])
    if a1 == b1:
        assert outcome(verdict) == ("agreed", int(a1 == "yes"), 1)
    elif a2 == b2:
        assert outcome(verdict) == ("agreed", int(a2 == "yes"), 2)
    else:
        assert outcome(verdict) == ("escalated", None, None)
    assert len(asked) == (1 if a1 == b1 else 2)


def test_four_agents_agree_only_when_unanimous() -> None:
    four = replace(TWO, agents=line_up([SEAT] * 4))
    three_to_one = [says("yes"), says("yes"), says("no"), says("yes")]
    verdict, asked = play(four, three_to_one, [says("yes")] * 4)
    assert outcome(verdict) == ("agreed", 1, 2)
    assert sizes(asked) == [4, 4]
    assert play(four, three_to_one, three_to_one)[0].status == "escalated"


def test_history_of_four_agents_lists_all_and_marks_the_reader() -> None:
    four = replace(TWO, agents=line_up([SEAT] * 4))
    _, asked = play(four, [says("no")] * 4)
    assert [agent.stance for agent in four.agents] == ["relevant", "irrelevant"] * 2
    for_c = text(asked[0][2])
    for speaker in ("Agent A", "Agent B", "Agent C (You)", "Agent D"):
        assert for_c.count(f"\n{speaker}, opening position: ") == 1
    assert "given to Agent A, Agent B and Agent D." in for_c


def test_single_round_escalates_at_once() -> None:
    verdict, asked = play(replace(TWO, rounds=1), [says("yes"), says("no")])
    assert verdict.status == "escalated"
    assert sizes(asked) == [2]


# Rounds played on after an agreement (persistence, docs/protocol.md 6.10).

ON = replace(TWO, rounds=1, continue_to=3)


def test_debate_played_on_keeps_the_verdict_of_the_first_agreement() -> None:
    verdict, asked = play(
        ON, [says("yes"), says("yes")], [says("yes"), says("no")], [says("no"), says("no")]
    )
    assert outcome(verdict) == ("agreed", 1, 1)
    assert sizes(asked) == [2, 2, 2]
    assert [turn.label for turn in verdict.turns] == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("late", [Permanent("out of credit"), GARBAGE])
def test_fault_after_the_agreement_ends_the_debate_and_not_the_agreement(late: Answer) -> None:
    verdict, _ = play(ON, [says("no"), says("no")], [says("no"), late], [GARBAGE])
    assert outcome(verdict) == ("agreed", 0, 1)
    assert len(verdict.turns) == 4


# Properties.


@given(st.lists(st.tuples(*[st.sampled_from(["yes", "no", GARBAGE])] * 4), min_size=5, max_size=5))
def test_outcome_does_not_depend_on_which_agent_is_listed_first(
    script: list[tuple[str, str, str, str]],
) -> None:
    def by_agent(requests: list[Question]) -> list[Answer]:
        return [planned(script, request) for request in requests]

    config = replace(TWO, rounds=5)
    swapped = replace(config, agents=config.agents[::-1])
    assert outcome(follow(config, by_agent)[0]) == outcome(follow(swapped, by_agent)[0])


def planned(script: list[tuple[str, str, str, str]], request: Question) -> str:
    a, a_repaired, b, b_repaired = script[request.round - 1]
    first, second = (a, a_repaired) if request.agent.name == "A" else (b, b_repaired)
    word = second if request.is_repair else first
    return GARBAGE if word == GARBAGE else says(word)


def test_same_course_makes_the_same_requests() -> None:
    script = [[says("yes"), GARBAGE], [says("no")], [says("yes"), says("no")]]
    first, second = play(TWO, *script)[1], play(TWO, *script)[1]
    assert first == second
    assert [request.as_llm_request() for step in first for request in step] == [
        request.as_llm_request() for step in second for request in step
    ]


def test_llm_request_carries_the_seat_and_the_settings() -> None:
    agents = line_up([("llama", "east"), ("qwen", "west")], first="irrelevant")
    config = replace(
        TWO, agents=agents, temperature=0.6, replicate=3, max_tokens=500, reasoning_effort="low"
    )
    _, asked = play(config, [says("no"), says("no")])
    request = asked[0][1].as_llm_request()
    assert (request.model, request.endpoint, request.role) == ("qwen", "west", "debate_turn")
    assert (request.temperature, request.replicate, request.max_tokens) == (0.6, 3, 500)
    assert request.reasoning_effort == "low"
    assert request.schema_name == "debate_turn"
    assert [agent.stance for agent in agents] == ["irrelevant", "relevant"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rounds": 0}, "1 to 5 rounds"),
        ({"rounds": 6}, "1 to 5 rounds"),
        ({"agents": line_up([SEAT])}, "at least two agents"),
        (
            {"agents": (Agent("A", "relevant", *SEAT), Agent("A", "irrelevant", *SEAT))},
            "names of their own",
        ),
    ],
)
def test_debate_that_cannot_be_held_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(TWO, **changes)  # type: ignore[arg-type]
