"""The variations of docs/protocol.md 2.5, 2.8: adjudicator, more agents, playing on, evidence."""

from dataclasses import replace

import pytest

from debate.dream import ADJUDICATOR, Agent, Config, adjudication_prompt, default_prompt, line_up
from debate.dream.closing import closing_verdict
from debate.dream.quotes import locate_all
from llm.errors import Permanent
from tests.debate.dream.test_dream_protocol import GARBAGE, TWO, outcome, play, says, sizes, text

SEAT = ("model-1", "practice")
JUDGED = replace(
    TWO,
    adjudicator=Agent(ADJUDICATOR, "", "judge-1", "practice"),
    adjudication=adjudication_prompt(),
)
FOUR = Config(agents=line_up([SEAT] * 4), prompt=default_prompt())
SPLIT = [says("yes", "It is there."), says("no", "It is not.")]


# The adjudicator (docs/protocol.md D11).


def test_adjudicator_decides_what_is_still_disputed() -> None:
    verdict, asked = play(JUDGED, SPLIT, SPLIT, [says("yes", "B is wrong.")])
    assert outcome(verdict) == ("adjudicated", 1, 2)
    assert sizes(asked) == [2, 2, 1]
    last = verdict.turns[-1]
    assert (last.agent, last.stance, last.round, last.label) == ("adjudicator", "", 3, 1)


def test_adjudicator_is_not_asked_where_the_agents_agree() -> None:
    verdict, asked = play(JUDGED, [says("no"), says("no")])
    assert outcome(verdict) == ("agreed", 0, 1)
    assert sizes(asked) == [2]


def test_adjudicator_reads_the_last_round_of_both_and_six_rules() -> None:
    first = [says("yes", "First of A."), says("no", "First of B.")]
    _, asked = play(JUDGED, first, SPLIT, [says("no")])
    said = text(asked[2][0])
    assert "Agent A, round 2: Yes. It is there." in said
    assert "Agent B, round 2: No. It is not." in said
    assert "First of" not in said
    assert "(You)," not in said
    system = asked[2][0].messages[0]["content"]
    rules = [line[0] for line in system.splitlines() if line[:1].isdigit()]
    assert rules == list("123456")
    assert asked[2][0].as_llm_request().schema_name == "adjudication"


def test_adjudicator_that_cannot_be_read_leaves_no_label() -> None:
    verdict, asked = play(JUDGED, SPLIT, SPLIT, [GARBAGE], [GARBAGE])
    assert outcome(verdict) == ("unreadable", None, None)
    assert sizes(asked) == [2, 2, 1, 1]
    assert len(verdict.turns) == 5


def test_adjudicator_whose_call_fails_leaves_no_label() -> None:
    verdict, _ = play(JUDGED, SPLIT, SPLIT, [Permanent("no credit")])
    assert outcome(verdict) == ("failed", None, None)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_debates_of_any_length_share_their_turns(rounds: int) -> None:
    keys = []
    for config in (replace(JUDGED, rounds=rounds), replace(TWO, rounds=5, continue_to=5)):
        script = [SPLIT] * rounds + [[says("no")] if config.adjudicator else SPLIT] * 3
        _, asked = play(config, *script)
        keys.append([r.as_llm_request().key for step in asked[:rounds] for r in step])
    assert keys[0] == keys[1]


def test_adjudicator_needs_a_prompt() -> None:
    with pytest.raises(ValueError, match="prompt"):
        replace(JUDGED, adjudication=None)


# More agents (docs/protocol.md D24).


def test_three_of_four_are_no_consensus() -> None:
    most = [says("yes"), says("yes"), says("yes"), says("no")]
    verdict, asked = play(FOUR, most, most)
    assert outcome(verdict) == ("escalated", None, None)
    assert sizes(asked) == [4, 4]


def test_four_of_four_are() -> None:
    assert outcome(play(FOUR, [says("no")] * 4)[0]) == ("agreed", 0, 1)


def test_stances_alternate_and_everybody_hears_everybody() -> None:
    assert [agent.stance for agent in FOUR.agents] == ["relevant", "irrelevant"] * 2
    words = [says("yes", f"Reason {n}.") for n in range(3)] + [says("no", "Reason 3.")]
    _, asked = play(FOUR, words, [says("no")] * 4)
    for place, name in enumerate("ABCD"):
        said = text(asked[1][place])
        assert f"Agent {name} (You), round 1" in said
        assert all(f"Reason {n}." in said for n in range(4))


def test_agents_of_different_models_are_asked_each_at_its_own() -> None:
    mixed = replace(TWO, agents=line_up([("llama", "one"), ("qwen", "two")]))
    _, asked = play(mixed, [says("no")] * 2)
    requests = [turn.as_llm_request() for turn in asked[0]]
    assert [(r.model, r.endpoint) for r in requests] == [("llama", "one"), ("qwen", "two")]


def test_at_most_six_agents() -> None:
    with pytest.raises(ValueError, match="at most 6"):
        Config(agents=line_up([SEAT] * 7), prompt=default_prompt())


def test_swapped_stances_change_what_is_asked() -> None:
    swapped = replace(TWO, agents=line_up([SEAT, SEAT], first="irrelevant"))
    _, plain = play(TWO, [says("no")] * 2)
    _, other = play(swapped, [says("no")] * 2)
    keys = [{r.as_llm_request().key for r in asked[0]} for asked in (plain, other)]
    assert not keys[0] & keys[1]


# Playing on (docs/protocol.md D22).


def test_only_agreed_pairs_are_debated_on() -> None:
    on = replace(TWO, continue_to=4)
    verdict, asked = play(on, *[[says("no")] * 2] * 4)
    assert (outcome(verdict), len(asked)) == (("agreed", 0, 1), 4)
    verdict, asked = play(on, SPLIT, SPLIT)
    assert (verdict.status, len(asked)) == ("escalated", 2)
    verdict, asked = play(on, SPLIT, [says("yes")] * 2, SPLIT, [says("no")] * 2)
    assert (outcome(verdict), len(asked)) == (("agreed", 1, 2), 4)


# Evidence (issue: "Evidence").


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("The chunk names the tilt. Therefore, the answer is yes.", "yes"),
        ("It is only on topic. My final decision: no.", "no"),
        ("Nothing is said about light. The chunk does not fully answer the query.", "no"),
        ("All parts are there. The chunk fully supports at least one answer.", "yes"),
        ("So, no.", "no"),
        # Hedged, turned, about others or about one answer among several: left alone.
        ("The chunk does not support answer (2).", None),
        ("The chunk fully answers the query, but leaves out why.", None),
        ("Agent B says that the chunk does not answer the query.", None),
        ("The answer is no longer in doubt.", None),
        ("The chunk does not contradict the answer.", None),
        ("Is the answer yes?", None),
        ("The answer is yes and the decision is no.", None),
        ("The answer (1) is covered.", None),
        ("", None),
    ],
)
def test_closing_verdict_is_read_only_where_it_is_plain(reason: str, verdict: str | None) -> None:
    assert closing_verdict(reason) == verdict


def test_answer_that_contradicts_its_own_reason_is_flagged() -> None:
    close = "The chunk does not fully answer the query."
    verdict, _ = play(TWO, [says("yes", close), says("no", close)], [says("no")] * 2)
    flags = [turn.flags for turn in verdict.turns[:2]]
    assert "self_contradicting" in flags[0]
    assert "self_contradicting" not in flags[1]


def test_quote_with_a_ligature_is_found_as_written_and_not_otherwise() -> None:
    passage = "An e\ufb03cient  \u00a0\n\ufb01nch \U0001f426 sings."
    found = locate_all(["e\ufb03cient \ufb01nch \U0001f426"], passage)[0]
    assert passage[found.start : found.end] == "e\ufb03cient  \u00a0\n\ufb01nch \U0001f426"
    assert not locate_all(["efficient finch"], passage)[0].found


def test_quote_given_twice_is_located_twice_at_its_first_place() -> None:
    quotes = locate_all(["to be", " ", "to  be", "be"], "to be or not to be")
    assert [(quote.start, quote.end) for quote in quotes] == [(0, 5), (0, 5), (3, 5)]
