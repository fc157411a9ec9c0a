"""run_debates --pairs: a file of pairs in, a file of outcomes out, over real HTTP."""

import json
import sqlite3
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from corpus.models import Benchmark, Domain, Judgment, Passage, Pool, Query
from debate.models import Debate, DebateRun
from debate.runs import from_pairs
from llm.models import Call
from tests.factories import make_benchmark, make_passage, make_pool

pytestmark = pytest.mark.django_db(transaction=True)
# What is refused never reaches the threads that hold debates, so it needs no commits.
NO_CALLS = pytest.mark.django_db

# Ten answer words: the number of them in a passage is its overlap in tenths, by which the
# practice model goes (docs/protocol.md 8).
WORDS = ["moths", "roll", "their", "backs", "toward", "any", "lamp", "and", "fly", "loops"]
TURN = {"round", "agent", "stance", "response", "reason", "reference"}


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes are gathered for a moment before they are written; a test has few to gather."""
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


def pair(key: Any, overlap: int, **changes: Any) -> dict[str, Any]:
    """A pair of that overlap."""
    text = " ".join(WORDS[:overlap]) + f" beside other things, item {key}."
    row = {"id": key, "query": "Why circle?", "answers": [" ".join(WORDS)], "passage": text}
    return row | changes


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def debated(folder: Path, *rows: dict[str, Any] | str) -> list[dict[str, Any]]:
    """What the command writes for these rows."""
    pairs, out = write(folder / "pairs.jsonl", *rows), folder / "out.jsonl"
    call_command("run_debates", pairs=pairs, out=out, json=True)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def refused(folder: Path, *rows: dict[str, Any] | str, name: str = "pairs.jsonl") -> str:
    """The message that the command refuses these rows with, having left nothing behind."""
    pairs, out = write(folder / name, *rows), folder / "out.jsonl"
    with pytest.raises(CommandError) as refusal:
        call_command("run_debates", pairs=pairs, out=out)
    assert refusal.value.returncode == 1
    assert [path.name for path in folder.iterdir()] == [name]
    kinds = (Benchmark, Domain, Query, Passage, Pool, DebateRun, Call)
    assert [kind.objects.count() for kind in kinds] == [0] * len(kinds)
    return str(refusal.value)


def test_rows_come_out_in_the_files_order_with_their_own_ids(tmp_path: Path) -> None:
    keys = [12, "b", 3, "0007", "a/ü😀", 900719925474099312]
    rows = debated(tmp_path, *(pair(key, 10) for key in keys))
    assert [row["id"] for row in rows] == keys
    assert [list(row) for row in rows] == [["id", "label", "status", "round", "turns"]] * 6


def test_outcome_of_every_kind(tmp_path: Path) -> None:
    given = [pair("no", 3), pair("late", 7), pair("never", 6), pair("yes", 10)]
    none, blank = pair("none", 10, answers=[]), pair("blank", 10, answers=["", " \n"])
    rows = debated(tmp_path, *given, none, blank)
    assert [(r["id"], r["status"], r["label"], r["round"], len(r["turns"])) for r in rows] == [
        ("no", "agreed", 0, 1, 2),
        ("late", "agreed", 1, 2, 4),
        ("never", "escalated", None, None, 4),
        ("yes", "agreed", 1, 1, 2),
        ("none", "skipped_no_answer", None, None, 0),
        ("blank", "skipped_no_answer", None, None, 0),
    ]


def test_turns_carry_both_agents_round_by_round(tmp_path: Path) -> None:
    (row,) = debated(tmp_path, pair(1, 6))
    assert [(t["round"], t["agent"], t["stance"], t["response"]) for t in row["turns"]] == [
        (1, "A", "relevant", "yes"),
        (1, "B", "irrelevant", "no"),
        (2, "A", "relevant", "yes"),
        (2, "B", "irrelevant", "no"),
    ]
    assert all(set(turn) == TURN and turn["reason"] for turn in row["turns"])


def test_quotes_are_slices_of_the_passage_in_code_points(tmp_path: Path) -> None:
    given = [
        pair(n, 6, passage=f"😀 𝔸 first.\r\n\n{' '.join(WORDS[:6])}\t𝔹 {n} é̩ 😀. Last 😀.")
        for n in range(6)
    ]
    found = 0
    for before, after in zip(given, debated(tmp_path, *given), strict=True):
        for quote in (quote for turn in after["turns"] for quote in turn["reference"]):
            assert set(quote) == {"text", "start", "end"}
            if quote["start"] is None:
                assert quote["end"] is None
                assert " ".join(quote["text"].split()) not in " ".join(before["passage"].split())
            else:
                slice_ = before["passage"][quote["start"] : quote["end"]]
                assert slice_.split() == quote["text"].split()
                found += 1
    assert found >= 12


def test_texts_are_kept_to_the_letter(tmp_path: Path) -> None:
    given = pair(
        "x", 10, query="A\r\n\u2028 😀\ufeff?", passage="\u00a0𝔸 " + pair("", 10)["passage"]
    )
    debated(tmp_path, given)
    assert Query.objects.get().text == given["query"]
    assert Passage.objects.get().text == given["passage"]


def test_blank_lines_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    rows = debated(tmp_path, "\ufeff" + json.dumps(pair(1, 10)), "", "  ", json.dumps(pair(2, 10)))
    assert [row["id"] for row in rows] == [1, 2]


@pytest.mark.slow
def test_same_file_again_pays_nothing_and_says_the_same(tmp_path: Path) -> None:
    given = [pair(1, 3), pair(2, 6), pair(3, 10)]
    first = debated(tmp_path, *given)
    paid = Call.objects.count()
    assert (paid, debated(tmp_path, *given)) == (8, first)
    assert Call.objects.count() == paid
    assert (Benchmark.objects.count(), Pool.objects.count()) == (1, 1)
    assert Judgment.objects.standing().count() == 2


def test_other_pairs_get_a_benchmark_of_their_own(tmp_path: Path) -> None:
    debated(tmp_path, pair(1, 3))
    debated(tmp_path, pair(1, 10))
    assert sorted(Benchmark.objects.values_list("debate_runs__debates__label", flat=True)) == [0, 1]


def test_row_that_stands_twice_comes_out_twice_and_is_debated_once(tmp_path: Path) -> None:
    rows = debated(tmp_path, pair(1, 10), pair(2, 3), pair(1, 10))
    assert [(row["id"], row["label"]) for row in rows] == [(1, 1), (2, 0), (1, 1)]
    assert Debate.objects.count() == 2


def test_known_labels_say_how_right_the_labels_are(tmp_path: Path) -> None:
    # Overlap 10 is agreed yes, 3 agreed no, 6 never agreed. Of relevant pairs two of three are
    # found, of the others one of one; 1 of 5 was escalated; a pair without a label does not count.
    given = [pair("a", 10, label=1), pair("b", 10, label=True), pair("c", 3, label=2)]
    given += [pair("d", 3, label=0), pair("e", 6, label=False), pair("f", 3)]
    pairs, out = write(tmp_path / "pairs.jsonl", *given), StringIO()
    options = {"pairs": pairs, "out": tmp_path / "out.jsonl"}
    call_command("run_debates", **options, json=True, stdout=out)
    found = json.loads(out.getvalue())["accuracy"]
    assert {name: each for name, each in found.items() if not isinstance(each, dict)} == {
        "known_labels": 5,
        "invalid": 0,
    }
    assert {name: each["value"] for name, each in found.items() if isinstance(each, dict)} == {
        "accuracy": pytest.approx(3 / 4),
        "recall_relevant": pytest.approx(2 / 3),
        "recall_irrelevant": pytest.approx(1),
        "balanced_accuracy": pytest.approx((2 / 3 + 1) / 2),
        "escalation": pytest.approx(1 / 5),
    }
    out = StringIO()
    call_command("run_debates", **options, stdout=out)
    assert "Of 5 pairs whose label is known, 0 got none:" in out.getvalue()
    assert "  recall relevant    0.6667 [0.2077, 0.9385]  2 of 3\n" in out.getvalue()


@NO_CALLS
@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("yes", "A whole number is needed here."),
        (1.5, "A whole number"),
        (10**6, "A label is from -32768"),
    ],
)
def test_a_label_that_is_none_is_refused(tmp_path: Path, label: Any, message: str) -> None:
    assert f"pairs.jsonl:2 label: {message}" in refused(
        tmp_path, pair(1, 10), pair(2, 10, label=label)
    )


@NO_CALLS
@pytest.mark.parametrize(("field", "other"), [("query", "Another?"), ("passage", "Another.")])
def test_same_id_with_other_content_is_refused(tmp_path: Path, field: str, other: str) -> None:
    message = refused(tmp_path, pair(1, 10), pair(2, 10), pair(1, 10, **{field: other}))
    assert f"pairs.jsonl:3 {field}: " in message
    assert "1 stands earlier in this load" in message


@NO_CALLS
def test_number_and_text_that_read_the_same_are_one_id(tmp_path: Path) -> None:
    assert "pairs.jsonl:2" in refused(tmp_path, pair(1, 10), pair("1", 9))


@NO_CALLS
@pytest.mark.parametrize("field", ["id", "query", "answers", "passage"])
def test_missing_field_is_named_with_file_and_line(tmp_path: Path, field: str) -> None:
    row = pair(2, 10)
    del row[field]
    message = refused(tmp_path, pair(1, 10), "", row)
    assert f"pairs.jsonl:3 {field}: This field is missing." in message


@NO_CALLS
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"id": 1.5}, ":1 id"),
        ({"id": ""}, ":1 id"),
        ({"id": True}, ":1 id"),
        ({"id": "x" * 201}, ":1 id"),
        ({"answers": "one text"}, ":1 answers"),
        ({"answers": ["fine", {}]}, ":1 answers[1]"),
        ({"query": 4}, ":1 query"),
        ({"passage": ["a"]}, ":1 passage"),
        ({"passage": "a\x00b"}, ":1 passage"),
    ],
)
def test_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], place: str) -> None:
    assert f"pairs.jsonl{place}: " in refused(tmp_path, pair(1, 10, **changes))


@NO_CALLS
@pytest.mark.parametrize("line", ["{", "[1, 2]", "null", '{"id": "\\ud800"}'])
def test_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    assert "pairs.jsonl:2: " in refused(tmp_path, pair(1, 10), line)


@NO_CALLS
@pytest.mark.parametrize("lines", [(), ("", "  ")])
def test_empty_file_is_refused(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert "pairs.jsonl" in refused(tmp_path, *lines)


@NO_CALLS
def test_file_of_another_kind_is_refused_with_the_kinds_that_are_read(tmp_path: Path) -> None:
    message = refused(tmp_path, pair(1, 10), name="pairs.csv")
    assert "pairs.csv: Nothing to load here" in message
    assert ".jsonl" in message


@NO_CALLS
def test_every_problem_of_a_file_is_listed(tmp_path: Path) -> None:
    message = refused(tmp_path, pair(1, 10, query=None), pair(2, 10), pair(3, 10, passage=None))
    assert "pairs.jsonl:1 query" in message
    assert "pairs.jsonl:3 passage" in message


def test_earlier_outcomes_survive_a_refusal(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("kept")
    with pytest.raises(CommandError):
        call_command("run_debates", pairs=write(tmp_path / "p.jsonl", "{"), out=out)
    assert out.read_text() == "kept"


def test_long_file_name_fits(tmp_path: Path) -> None:
    pairs = write(tmp_path / ("n" * 200 + ".jsonl"), pair(1, 10))
    call_command("run_debates", pairs=pairs, out=tmp_path / "out.jsonl", json=True)
    assert len(Benchmark.objects.get().name) <= 120


@NO_CALLS
@pytest.mark.skipif(connection.vendor != "sqlite", reason="the bound is SQLite's")
def test_more_pairs_than_a_database_takes_keys_at_once(tmp_path: Path) -> None:
    benchmark = make_benchmark()
    passage, domain = make_passage(benchmark), benchmark.domains.get()
    queries = Query.objects.bulk_create(
        Query(domain=domain, qid=str(n), text="Why?") for n in range(700)
    )
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=make_pool(benchmark), name="run", endpoint="e", model="m"
    )
    Debate.objects.bulk_create(
        Debate(run=run, query=query, passage=passage, status="failed") for query in queries
    )
    pairs, out = write(tmp_path / "p.jsonl", *({"id": n} for n in range(700))), tmp_path / "out"
    limit = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER
    before = connection.connection.setlimit(limit, 600)
    try:
        assert from_pairs.write_outcomes(run, pairs, out) == 700
    finally:
        connection.connection.setlimit(limit, before)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in found] == list(range(700))


@NO_CALLS
def test_writing_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    benchmark = make_benchmark()
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=make_pool(benchmark), name="run", endpoint="e", model="m"
    )
    pairs = write(tmp_path / "p.jsonl", {"id": "not debated"})
    with pytest.raises(KeyError):
        from_pairs.write_outcomes(run, pairs, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
