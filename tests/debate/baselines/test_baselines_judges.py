"""LLMJudge, the filter, the graded judge and votes without debate, driven by scripted answers."""

import json
from dataclasses import replace

import pytest

from debate.baselines.graded import graded, mode, read_reference, read_strict
from debate.baselines.relevance import human_only
from debate.baselines.support import keep_or_discard, single_judge
from debate.baselines.votes import majority, vote, votes_for
from llm.errors import Permanent
from llm.parsing import ParseFailure
from tests.debate.judging import PAIR, judges, play, samples

TRUE, FALSE = '{"is_supported": true}', '{"is_supported": false}'
GARBAGE = "I would rather not say."


def grade(score: object) -> str:
    return json.dumps({"match": 1, "trust": 2, "score": score})


def turn(response: str) -> str:
    return json.dumps({"reference": [], "reason": "Because.", "response": response})


# LLMJudge (docs/protocol.md 2.2, D05).


@pytest.mark.parametrize(
    ("answer", "label"),
    [(TRUE, 1), (FALSE, 0), (f"```json\n{TRUE}\n```", 1), ('{"is_supported": "False"}', 0)],
)
def test_the_judges_word_is_the_label(answer: str, label: int) -> None:
    verdict, asked = play(single_judge, judges(), [answer])
    assert (verdict.status, verdict.label) == ("judged", label)
    assert [len(step) for step in asked] == [1]


def test_garbage_after_the_repair_is_invalid_and_no_label() -> None:
    verdict, asked = play(single_judge, judges(), [GARBAGE], [GARBAGE])
    assert (verdict.status, verdict.label) == ("unreadable", None)
    assert [len(step) for step in asked] == [1, 1]
    assert "is_supported (true or false)" in asked[1][0].messages[-1]["content"]


def test_garbage_may_be_coerced_to_zero_as_umbrela_does_and_says_so() -> None:
    verdict, _ = play(single_judge, judges(coerce=True), [GARBAGE], [GARBAGE])
    assert (verdict.status, verdict.label) == ("judged", 0)
    assert verdict.turns[0].flags == ("unreadable", "coerced")
    assert verdict.turns[0].response is None


def test_failed_call_is_not_coerced() -> None:
    verdict, _ = play(single_judge, judges(coerce=True), [Permanent("no credit")])
    assert (verdict.status, verdict.label) == ("failed", None)


@pytest.mark.parametrize("value", ["1", '"maybe"', "null", "[true]"])
def test_only_true_and_false_are_read(value: str) -> None:
    answer = f'{{"is_supported": {value}}}'
    verdict, _ = play(single_judge, judges(), [answer], [answer])
    assert verdict.status == "unreadable"


@pytest.mark.parametrize("rule", [single_judge, keep_or_discard, graded, vote, human_only])
def test_query_without_answers_is_skipped_and_nobody_is_asked(rule) -> None:
    verdict, asked = play(rule, judges(), pair=replace(PAIR, answers=(" ",)))
    assert (verdict.status, asked) == ("skipped_no_answer", [])


# The filter (docs/protocol.md D04): FFF, FFT, parse error -> drop, keep, keep.


@pytest.mark.parametrize(
    ("votes", "status"),
    [
        ([FALSE, FALSE, FALSE], "judged"),
        ([FALSE, FALSE, TRUE], "kept"),
        ([TRUE, TRUE, TRUE], "kept"),
        ([FALSE, FALSE, Permanent("no credit")], "failed"),
    ],
)
def test_filter_discards_only_what_all_three_call_false(votes: list, status: str) -> None:
    verdict, asked = play(keep_or_discard, judges(3), votes)
    assert (verdict.status, verdict.label) == (status, 0 if status == "judged" else None)
    assert [question.agent.model for question in asked[0]] == ["model-1", "model-2", "model-3"]


def test_answer_that_cannot_be_read_keeps_the_pair() -> None:
    verdict, _ = play(keep_or_discard, judges(3), [FALSE, GARBAGE, FALSE], [GARBAGE])
    assert (verdict.status, verdict.label) == ("kept", None)
    assert [turn.response for turn in verdict.turns] == ["no", None, "no"]


def test_judge_and_filter_ask_one_model_the_very_same_request() -> None:
    _, alone = play(single_judge, judges(1), [TRUE])
    _, together = play(keep_or_discard, judges(3), [TRUE] * 3)
    assert alone[0][0].as_llm_request().key == together[0][0].as_llm_request().key
    assert len({question.as_llm_request().key for question in together[0]}) == 3


# The graded judge: the parser table of docs/protocol.md 2.2, and what strict makes of the same.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("##final score: 2", (2, True)),
        ("no score here", (0, False)),
        ("I think it is 1 of the best", (1, True)),  # a false hit
        ('{"M": 3, "T": 1, "O": 2}', (2, True)),
        ("M: 3 T: 3 O: 1", (1, True)),
        ('"O": 1, then again "O": 3', (3, True)),  # the last one counts
        ('{"O": 1} and final score: 3', (1, True)),  # the first pattern that occurs counts
        ("so 1 out of 3", (1, True)),  # a false hit: an o before a digit
        ("Final score is 3", (3, True)),
        ("The relevance category is 2.", (2, True)),
        ("1999", (1, True)),  # a false hit: any digit of the scale
        ("7 out of 9", (0, False)),
        ("", (0, False)),
    ],
)
def test_reference_parser(text: str, expected: tuple[int, bool]) -> None:
    assert read_reference(text) == expected


@pytest.mark.parametrize("value", [0, 1, 2, 3, "2", 3.0])
def test_strict_parser_reads_the_json_score(value: object) -> None:
    read = read_strict(grade(value))
    assert not isinstance(read, ParseFailure)
    assert read[0] == int(float(str(value)))


@pytest.mark.parametrize(
    "text",
    [grade(4), grade(-1), grade(1.5), grade(True), grade(None), "##final score: 2", ""],
)
def test_strict_parser_takes_nothing_else(text: str) -> None:
    assert isinstance(read_strict(text), ParseFailure)


@pytest.mark.parametrize(("score", "label"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_grade_is_binary_from_two_on(score: int, label: int) -> None:
    verdict, _ = play(graded, judges(), [grade(score)])
    assert (verdict.status, verdict.label, verdict.turns[0].score) == ("judged", label, score)


def test_several_samples_give_their_mode_and_ties_the_lower_grade() -> None:
    # 3, 1, 3 -> 3 (twice); 2, 1 -> 1 (once each)
    assert play(graded, samples(3), [grade(3), grade(1), grade(3)])[0].label == 1
    assert play(graded, samples(2), [grade(2), grade(1)])[0].label == 0
    assert (mode([3, 1, 3]), mode([2, 1])) == (3, 1)


def test_samples_are_draws_of_their_own() -> None:
    config = samples(3, temperature=0.7, reasoning_effort="high")
    _, asked = play(graded, config, [grade(1)] * 3)
    assert {each.as_llm_request().reasoning_effort for each in asked[0]} == {"high"}
    assert len({question.as_llm_request().key for question in asked[0]}) == 3


def test_unreadable_samples_are_left_out_and_none_left_is_unreadable() -> None:
    verdict, _ = play(graded, samples(2), [grade(3), GARBAGE], [GARBAGE])
    assert (verdict.status, verdict.label) == ("judged", 1)
    verdict, _ = play(graded, samples(2), [GARBAGE] * 2, [GARBAGE] * 2)
    assert (verdict.status, verdict.label) == ("unreadable", None)


def test_reference_parser_makes_zero_of_garbage_without_asking_again() -> None:
    verdict, asked = play(graded, judges(reference_parser=True), ["nothing of use"])
    assert (verdict.label, verdict.turns[0].flags, len(asked)) == (0, ("coerced",), 1)


# Votes without debate.


@pytest.mark.parametrize(
    ("votes", "by_majority", "by_all"),
    [("yyy", 1, 1), ("yyn", 1, None), ("nny", 0, None), ("nnn", 0, 0)],
)
def test_majority_or_unanimity_decides(votes: str, by_majority: int, by_all: int | None) -> None:
    answers = [turn("yes" if each == "y" else "no") for each in votes]
    for is_majority, label in ((True, by_majority), (False, by_all)):
        verdict, _ = play(vote, samples(3, majority=is_majority), answers)
        assert verdict.label == label
        assert verdict.status == ("escalated" if label is None else "judged")


def test_tie_has_no_majority() -> None:
    assert majority([1, 0]) is None
    assert majority([1, 1, 0, 0]) is None
    assert majority([1, None, None]) is None  # one of three is not more than half


def test_voters_hear_nothing_of_each_other() -> None:
    _, asked = play(vote, samples(3, temperature=0.6), [turn("yes")] * 3)
    assert len({question.messages for question in map(frozen, asked[0])}) == 1
    assert "history" not in asked[0][0].messages[0]["content"]


def frozen(question):
    class Frozen:
        messages = tuple(message["content"] for message in question.messages)

    return Frozen


def test_unreadable_vote_ends_the_pair() -> None:
    verdict, _ = play(vote, samples(3), [turn("yes"), GARBAGE, turn("yes")], [GARBAGE])
    assert (verdict.status, verdict.label) == ("unreadable", None)


@pytest.mark.parametrize(
    ("debate", "vote_tokens", "votes"),
    # 4,200 / 1,900 = 2.2; 5,700 / 1,900 = 3; 500 / 1,900 = 0.3, at least one; at most nine
    [(4200, 1900, 2), (5700, 1900, 3), (500, 1900, 1), (1e6, 1, 9)],
)
def test_votes_at_equal_tokens(debate: float, vote_tokens: float, votes: int) -> None:
    assert votes_for(debate, vote_tokens) == votes


def test_people_alone_need_no_model() -> None:
    verdict, asked = play(human_only, judges())
    assert (verdict.status, verdict.label, asked) == ("escalated", None, [])
