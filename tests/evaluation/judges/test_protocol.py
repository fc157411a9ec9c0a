"""TREC AutoJudge's shapes, and how alike two rankings are."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evaluation.judges.protocol.autojudge import (
    BadFile,
    Nugget,
    Score,
    means_of,
    read_leaderboard,
    read_nuggets,
    written_leaderboard,
    written_nuggets,
)
from evaluation.judges.protocol.meta import agreement, spearman, tau_ap

TEN = list(range(1, 11))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (TEN, 1.0),
        ([-each for each in TEN], -1.0),
        # The first two of ten swapped: 0 of 1 is right at the second place, all at the other eight:
        # 2 * 8 / 9 - 1 = 7/9. The last two: 8 of 9 at the last one: 2 * (8 + 8/9) / 9 - 1 = 79/81.
        ([*range(1, 9), 10, 9], 7 / 9),
        ([2, 1, *range(3, 11)], 79 / 81),
    ],
)
def test_tau_ap_by_hand(found, wanted) -> None:
    assert tau_ap(TEN, found) == pytest.approx(wanted)
    assert tau_ap(found, TEN) == pytest.approx(wanted)


def test_tau_ap_with_ties_by_hand() -> None:
    """Truth a > b > c > d, found a > b = c > d."""
    # Along the found order: b has a above it, right: 1; c the same: 1; d has three: 1. So 1.
    # Along the truth: b: a is above in the found one, 1; c: of a and b only a: 1/2; d: 1.
    # 2 * 2.5 / 3 - 1 = 2/3; the mean of 1 and 2/3.
    assert tau_ap([4, 3, 2, 1], [4, 2, 2, 1]) == pytest.approx(5 / 6)
    assert tau_ap([4, 3, 2, 1], [1, 1, 1, 1]) is None
    assert tau_ap([1], [2]) is None


def test_kendall_and_spearman_are_scipys() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        one, other = rng.integers(0, 6, (2, 9)).astype(float).tolist()
        names = [f"s{n}" for n in range(9)]
        found = agreement(dict(zip(names, one, strict=True)), dict(zip(names, other, strict=True)))
        assert found.kendall == pytest.approx(stats.kendalltau(one, other).statistic)
        assert found.spearman == pytest.approx(stats.spearmanr(one, other).statistic)
        assert found.systems == 9
    # By hand: squared rank differences 1, 1, 0: 1 - 6 * 2 / (3 * 8) = 1/2.
    assert spearman([1, 2, 3], [2, 1, 3]) == pytest.approx(0.5)


def test_only_systems_that_both_rank_are_compared() -> None:
    found = agreement({"a": 1, "b": 2, "c": 9}, {"a": 5, "b": 6, "d": 0})
    assert (found.systems, found.kendall) == (2, 1.0)
    assert agreement({"a": 1}, {"a": 2}).kendall is None


SCORES = [
    Score("runA", "t1", "GRADE", 0.9),
    Score("runA", "t2", "GRADE", 0.4),
    Score("runA", "t1", "IS_MATCH", 1.0),
]


@pytest.mark.parametrize("shape", ["ir_measures", "tot", "rag4reports", "jsonl"])
def test_a_leaderboard_comes_back_as_it_went_with_its_means(shape) -> None:
    lines = list(written_leaderboard(SCORES, shape))
    back = read_leaderboard(lines, shape)
    assert back == [
        *SCORES,
        Score("runA", "all", "GRADE", 0.65),
        Score("runA", "all", "IS_MATCH", 1),
    ]
    assert means_of(back) == back[3:]
    # Written again it is the same: no mean becomes a topic.
    assert list(written_leaderboard(back, shape)) == lines


def test_published_forms_are_read() -> None:
    lines = "runA    GRADE    t1     0.9\nrunA    IS_MATCH t1     True\n\n".splitlines()
    assert read_leaderboard(lines, "tot") == [SCORES[0], SCORES[2]]
    assert read_leaderboard(["GRADE t1 0.9"], "trec_eval", run="runA") == [SCORES[0]]
    named = ["runid all runA", "GRADE t1 0.9"]
    assert read_leaderboard(named, "trec_eval", run="file") == [SCORES[0]]


def test_every_wrong_line_of_a_leaderboard_is_named() -> None:
    lines = ["r t1 m .5", "r t1 m", "r t1 m .6", "r t2 m much", "r t3 m nan", "r t4 m 1"]
    with pytest.raises(BadFile) as fault:
        read_leaderboard(lines)
    assert [each.split(":")[0] for each in fault.value.faults] == [
        *("line 2", "line 3", "line 4", "line 5"),
    ]
    assert "4 columns are needed (run, topic, measure, value), here are 3." in str(fault.value)
    with pytest.raises(ValueError, match="White space"):
        list(written_leaderboard([Score("two words", "t", "m", 1.0)]))


def test_json_lines_are_those_of_autojudge() -> None:
    (first, *_) = written_leaderboard([Score("two words", "t1", "GRADE", 0.9)], "jsonl")
    assert json.loads(first) == {
        "run_id": "two words", "topic_id": "t1", "measure": "GRADE", "value": 0.9
    }  # fmt: skip
    # Its own reader takes numbers for topics, and values as texts or truths.
    lines = [
        '{"run_id": "runA", "topic_id": 7, "measure": "GRADE", "value": "0.9"}',
        '{"run_id": "runA", "topic_id": 7, "measure": "IS_MATCH", "value": true, "more": 1}',
    ]
    assert read_leaderboard(lines, "jsonl") == [
        Score("runA", "7", "GRADE", 0.9), Score("runA", "7", "IS_MATCH", 1.0)
    ]  # fmt: skip


def test_every_wrong_line_of_json_is_named() -> None:
    good = {"run_id": "r", "topic_id": "t", "measure": "m", "value": 1}
    wrong: list[tuple[object, str]] = [
        ("{", "this is not JSON"),
        ([], "no JSON object"),
        ({**good, "run_id": None}, "run_id is missing"),
        ({**good, "topic_id": True}, "topic_id is missing, or no name"),
        ({**good, "measure": 7}, "measure is missing, or no name"),
        ({name: good[name] for name in ("run_id", "topic_id", "measure")}, "value is missing"),
        ({**good, "value": float("nan")}, "no finite number"),
        ({**good, "value": [1]}, "no finite number"),
        (good, "r t m has a value already"),
    ]
    lines = [json.dumps(good), ""]
    lines += [each if isinstance(each, str) else json.dumps(each) for each, _ in wrong]
    with pytest.raises(BadFile) as fault:
        read_leaderboard(lines, "jsonl")
    for number, ((_, words), told) in enumerate(zip(wrong, fault.value.faults, strict=True), 3):
        assert told.startswith(f"line {number}: ")
        assert words in told


def test_a_nugget_bank_comes_back_as_it_went() -> None:
    nuggets = [
        Nugget("7", "Why moths roll", "7-a1", 3, ("p1", "p 2")),  # who made it is not known
        Nugget("7", "Who saw it", "7-a2", "vital", (), ("a camera",)),
        Nugget("9", "Leaves fall.", "9-a1", "", ("p9",), is_claim=True),
    ]
    lines = list(written_nuggets(nuggets, {"7": "Why?"}))
    assert read_nuggets(lines) == nuggets
    bank = json.loads(lines[0])
    assert (bank["query_id"], bank["title_query"], bank["format_version"]) == ("7", "Why?", "v3")
    entry = bank["nugget_bank"]["Why moths roll"]
    assert entry["references"] == [{"doc_id": "p1"}, {"doc_id": "p 2"}]
    assert "creator" not in entry
    (line,) = written_nuggets([replace(nuggets[0], by_people=True)], {})
    made = json.loads(line)["nugget_bank"]["Why moths roll"]
    assert made["creator"] == [{"is_human": True}]


def test_banks_as_they_are_submitted_are_read() -> None:
    answers = [{"answer": "Light.", "references": ["p1", "p2"]}, {"answer": "Heat."}]
    bank = {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "7"},
        "nugget_bank": [{"question": "Why?", "answers": answers, "references": [{"doc_id": "p1"}]}],
    }
    (found,) = read_nuggets([json.dumps(bank)])
    assert (found.topic, found.answers, found.references) == (
        "7",
        ("Light.", "Heat."),
        ("p1", "p2"),
    )


def test_lists_and_nuggets_in_nuggets_are_read() -> None:
    inner = {"claim": "b", "query_id": "1"}
    bank = {
        "query_id": "1",
        "nugget_bank": [
            {"question": "a", "references": ["p1"], "sub_nuggets": [inner]},
        ],
    }
    assert read_nuggets([json.dumps(bank)]) == [
        Nugget("1", "a", references=("p1",)),
        Nugget("1", "b", is_claim=True),
    ]


def test_every_wrong_nugget_is_named_by_line_and_place() -> None:
    lines = [
        "{",
        '{"nugget_bank": {}}',
        '{"query_id": "1", "nugget_bank": {"a": {"question": ""}}, "claim_bank": [{}]}',
        '{"query_id": "1"}',
        '{"query_id": "2", "nugget_bank": [{"question": "q", "references": [{}]}]}',
        '{"query_id": "3", "nugget_bank": [{"question": "q", "importance": []}]}',
        '{"query_id": "4", "nugget_bank": 5}',
    ]
    with pytest.raises(BadFile) as fault:
        read_nuggets(lines)
    assert [each.split(": ")[0] for each in fault.value.faults] == [
        "line 1", "line 2", "line 3", "line 3", "line 4", "line 5", "line 6", "line 7",
    ]  # fmt: skip
    assert "line 3: nugget_bank, 'a': a question is missing." in str(fault.value)
    assert "line 3: claim_bank, entry 1: a claim is missing." in str(fault.value)
