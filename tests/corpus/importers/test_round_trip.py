"""What came in goes out again: rows -> writer -> reader -> the same rows, for every format."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.importers.formats import FORMATS, RUN_FORMATS
from corpus.importers.rows import (
    DocumentRow,
    JudgmentRow,
    Location,
    PassageRow,
    QueryRow,
    Row,
    RunRow,
)
from evaluation.exporters import beir, bright, bright_pro, trec
from evaluation.exporters.documents import write_documents
from evaluation.exporters.records import AspectRecord, Label, QueryRecord, ReleaseSchema
from tests.corpus.import_files import of_kind, one_by_one, read

HERE = Location("x")
NAME = "bio"
# Everything that a database can store.
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)
ODD_TEXT = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "\r\n",
        " a ",
        "\na\n",
        "\u2028",
        "\ufeff",
        "Description: x",
        "a &amp; <b>",
        "\t",
    ]
)
TEXTS = TEXT | ODD_TEXT
MAYBE = st.none() | TEXTS
IDS = TEXT.filter(bool) | st.sampled_from(["a/b_0.txt", "100%27", "=1+1", " lead", "[1] x", "-1"])
# Ids that can stand between tabs and in markup.
LINE = "\t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029<>#\ufeff\x00"
PLAIN = st.text(
    st.characters(exclude_characters=LINE, exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda name: name == name.strip() and not name[0].isspace())
DAYS = st.none() | st.dates().map(date.isoformat)
ABOUT = {"title": MAYBE, "source_url": MAYBE, "fetched_on": DAYS}
# As a release has them, where what is not known is empty.
GIVEN = {"title": TEXTS, "source_url": TEXTS, "fetched_on": DAYS}
LABELS = st.integers(-2, 4)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
).filter(lambda value: value != {})


def unique(rows: st.SearchStrategy[Any], key: Callable[[Any], Any]) -> st.SearchStrategy[Any]:
    return st.lists(rows, min_size=1, max_size=4, unique_by=key)


def extras(*taken: str) -> st.SearchStrategy[Any]:
    names = TEXT.filter(lambda name: name not in taken)
    return st.none() | st.dictionaries(names, VALUES, min_size=1, max_size=2)


def queries(ids: st.SearchStrategy[str], **fields: st.SearchStrategy[Any]) -> Any:
    given = {"domain": st.just(NAME), "qid": ids, "text": TEXTS, "location": st.just(HERE)}
    return unique(st.builds(QueryRow, **{**given, **fields}), lambda row: row.qid)


def passages(ids: st.SearchStrategy[str], **fields: st.SearchStrategy[Any]) -> Any:
    given = {"domain": st.just(NAME), "pid": ids, "text": TEXTS, "location": st.just(HERE)}
    return unique(st.builds(PassageRow, **{**given, **fields}), lambda row: row.pid)


def judgments(ids: st.SearchStrategy[str]) -> Any:
    rows = st.builds(JudgmentRow, st.just(NAME), ids, ids, LABELS, st.just(HERE))
    return unique(rows, lambda row: (row.qid, row.pid))


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("round") / NAME


@given(
    rows=queries(IDS, extra=extras("_id", "text")),
    texts=passages(IDS, **ABOUT, extra=extras("_id", "text", *ABOUT)),
    gold=judgments(PLAIN),
)
def test_beir(root, rows, texts, gold) -> None:
    folder = root.parent / "beir" / NAME
    beir.write_queries(folder / "queries.jsonl", rows)
    beir.write_corpus(folder / "corpus.jsonl", texts)
    assert beir.write_qrels(folder / "qrels" / "test.tsv", gold) == len(gold)
    assert read("beir", folder) == [*rows, *gold, *texts]
    assert {row.gold for row in of_kind(read("beir", folder), JudgmentRow)} == {"test"}


@given(rows=queries(PLAIN, description=MAYBE, narrative=MAYBE))
def test_trec_topics(root, rows) -> None:
    path = root / "topics.txt"
    try:
        assert trec.write_topics(path, rows) == len(rows)
    except trec.Unwritable:
        return
    assert read("trec", path) == [as_domain(row, "topics") for row in rows]


@given(texts=passages(PLAIN, title=MAYBE))
def test_trec_documents(root, texts) -> None:
    path = root / "docs.txt"
    try:
        trec.write_documents(path, texts)
    except trec.Unwritable:
        return
    assert read("trec", path) == [as_domain(row, "docs") for row in texts]


@given(gold=judgments(PLAIN))
def test_trec_judgments(root, gold) -> None:
    path = root / "qrels.txt"
    assert trec.write_qrels(path, gold) == len(gold)
    found = of_kind(read("trec", path), JudgmentRow)
    assert found == [as_domain(row, "qrels") for row in gold]


@given(
    rows=st.dictionaries(
        st.tuples(PLAIN, PLAIN),
        st.dictionaries(st.sampled_from(["1", "2", "a b"]), LABELS, min_size=2),
        min_size=1,
        max_size=3,
    )
)
def test_trec_judgments_of_subtopics(root, rows) -> None:
    path = root / "qrels.txt"
    gold = [
        JudgmentRow("qrels", qid, pid, max(given.values()), HERE, subtopics=given)
        for (qid, pid), given in rows.items()
    ]
    assert trec.write_qrels(path, gold) == sum(map(len, rows.values()))
    assert of_kind(read("trec", path), JudgmentRow) == gold


@given(
    rows=st.dictionaries(
        PLAIN,
        st.dictionaries(PLAIN, st.floats(allow_nan=False, allow_infinity=False), min_size=1),
        min_size=1,
        max_size=3,
    ),
    tag=PLAIN,
)
def test_trec_runs(root, rows, tag) -> None:
    path = root / f"{NAME}.run"
    given = [
        RunRow(NAME, qid, tuple(scores), tuple(scores.values()), tag, HERE)
        for qid, scores in rows.items()
    ]
    assert trec.write_run(path, given) == sum(map(len, rows.values()))
    assert of_kind(list(RUN_FORMATS["trec_run"].read(path)), RunRow) == given


def test_a_ranking_without_scores_goes_out_with_scores_that_keep_it(root) -> None:
    path = root / f"{NAME}.run"
    trec.write_run(path, [RunRow(NAME, "1", ("b", "a"), None, "", HERE)])
    assert path.read_text() == "1\tQ0\tb\t1\t2\trun\n1\tQ0\ta\t2\t1\trun\n"


@given(
    rows=queries(
        IDS,
        reasoning=MAYBE,
        gold_answer=MAYBE,
        gold_ids_long=st.none() | st.lists(IDS).map(tuple),
        excluded_ids=st.none() | st.just(("not gold",)),
        extra=extras(
            "id",
            "query",
            "gold_ids",
            "gold_ids_long",
            "excluded_ids",
            "reasoning",
            "gold_answer",
        ),
    ),
    gold=st.lists(IDS.filter(lambda pid: pid != "not gold"), unique=True, max_size=3),
    texts=passages(IDS, **ABOUT),
    page=TEXTS,
    about=st.fixed_dictionaries(ABOUT),
)
def test_bright(root, rows, gold, texts, page, about) -> None:
    folder = root.parent / "bright"
    bright.write_queries(folder / f"queries/{NAME}.jsonl", rows, {row.qid: gold for row in rows})
    bright.write_texts(folder / f"documents/{NAME}.jsonl", texts)
    pages = [DocumentRow(NAME, "a/b.txt", page, HERE, **about)]
    bright.write_texts(folder / f"long_documents/{NAME}.jsonl", pages)
    found = read("bright", folder)
    assert of_kind(found, QueryRow) == rows
    assert of_kind(found, JudgmentRow) == [
        JudgmentRow(NAME, row.qid, pid, 1, HERE) for row in rows for pid in gold
    ]
    assert (of_kind(found, PassageRow), of_kind(found, DocumentRow)) == (texts, pages)


@given(gold=judgments(PLAIN))
def test_bright_judgments(root, gold) -> None:
    folder = root.parent / "bright_gold"
    rows = [QueryRow(NAME, "q", "?", HERE)]
    bright.write_queries(folder / f"queries/{NAME}.jsonl", rows, {})
    bright.write_qrels(folder / f"gold/{NAME}.txt", gold)
    assert of_kind(read("bright", folder, folder / "gold"), JudgmentRow) == gold


def records(ids: st.SearchStrategy[str]) -> Any:
    """Queries of a release with relevant passages and one aspect that they all support."""

    def build(qid: str, text: str, answers: list[str], pids: list[str], weight: int) -> QueryRecord:
        labels = tuple(Label(pid, 0, None, 1) for pid in sorted(pids))
        aspects = (AspectRecord(1, text, weight, "likert5", tuple(sorted(pids))),)
        return QueryRecord(0, qid, text, tuple(answers), text, labels, aspects)

    pids = st.lists(IDS, min_size=1, max_size=3, unique=True)
    one = st.builds(build, ids, TEXTS, st.lists(TEXTS, max_size=2), pids, st.integers(1, 5))
    return unique(one, lambda record: record.qid)


@given(given=records(IDS))
def test_bridge(root, given) -> None:
    path = root.parent / "bridge" / f"{NAME}.jsonl"
    bright_pro.write_bridge(path, given)
    found = read("bridge", path)
    assert of_kind(found, QueryRow) == [
        QueryRow(NAME, each.qid, each.text, HERE, answers=each.answers) for each in given
    ]
    assert of_kind(found, JudgmentRow) == [
        JudgmentRow(NAME, each.qid, pid, 1, HERE) for each in given for pid in each.relevant
    ]


@given(given=records(st.integers(0, 99).map(str)), texts=passages(IDS, **GIVEN))
def test_bright_pro(root, given, texts) -> None:
    folder = root.parent / "bright_pro"
    shape = ReleaseSchema(integer_ids=True, with_answers=True)
    bright_pro.write_examples(folder / f"examples/{NAME}.parquet", given, shape)
    bright_pro.write_aspects(folder / f"aspects/{NAME}.parquet", NAME, given, shape)
    rows = (
        (
            *(row.pid, row.text, row.title, row.source_url),
            row.fetched_on and date.fromisoformat(row.fetched_on),
        )
        for row in texts
    )
    corpus = root.parent / f"{NAME}_corpus.jsonl"
    write_documents(folder / f"documents/{NAME}.parquet", corpus, rows)
    # BEIR's and BRIDGE's lines leave out an address that is not known.
    assert of_kind(read("bridge", corpus), PassageRow) == [
        replace(row, source_url=row.source_url or None) for row in texts
    ]
    found = list(one_by_one(FORMATS["bright_pro"].read(folder)))
    assert of_kind(found, QueryRow) == [
        QueryRow(NAME, each.qid, each.text, HERE, each.answers, reference_answer=each.text)
        for each in given
    ]
    assert of_kind(found, PassageRow) == texts
    assert {row.pid for row in of_kind(found, JudgmentRow)} == {
        pid for each in given for pid in each.relevant
    }


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "", " ", "\ufeffa"])
def test_ids_that_would_break_a_line_are_refused(root, name) -> None:
    with pytest.raises(ValueError, match="between tabs"):
        trec.write_qrels(root / "q.txt", [JudgmentRow(NAME, "1", name, 1, HERE)])


def test_an_id_that_would_be_a_comment_is_refused(root) -> None:
    with pytest.raises(ValueError, match="comment"):
        trec.write_qrels(root / "q.txt", [JudgmentRow(NAME, "#1", "d", 1, HERE)])


@pytest.mark.parametrize("text", ["a </TEXT> b", "<doc>", "x </DOC >"])
def test_texts_that_would_end_their_element_are_refused(root, text) -> None:
    with pytest.raises(trec.Unwritable, match="would end it"):
        trec.write_documents(root / "d.txt", [PassageRow(NAME, "d", text, HERE)])


def as_domain(row: Any, domain: str) -> Any:
    return type(row)(
        **{name: getattr(row, name) for name in row.__slots__ if name != "domain"}, domain=domain
    )


def sources(rows: list[Row], *kinds: type) -> list[Row]:
    return [row for row in rows if isinstance(row, kinds)]


def test_the_real_cranfield_goes_out_as_beir_and_trec_and_comes_back(shared, tmp_path) -> None:
    rows = read("cranfield", shared / "cranfield")
    kinds = (QueryRow, JudgmentRow, PassageRow)
    asked, gold, texts = (of_kind(rows, kind) for kind in kinds)
    folder = tmp_path / "cranfield"
    beir.write_queries(folder / "queries.jsonl", asked)
    beir.write_corpus(folder / "corpus.jsonl", texts)
    beir.write_qrels(folder / "qrels/test.tsv", gold)
    assert sources(read("beir", folder), *kinds) == [*asked, *gold, *texts]
    other = tmp_path / "trec" / "cranfield"
    trec.write_topics(other / "topics.txt", asked)
    trec.write_documents(other / "docs.txt", texts)
    trec.write_qrels(other / "qrels.txt", gold)
    found = read("trec", other)
    assert [(row.qid, row.text) for row in of_kind(found, QueryRow)] == [
        (row.qid, row.text) for row in asked
    ]
    assert of_kind(found, JudgmentRow) == gold
    assert [(row.pid, row.title, row.text) for row in of_kind(found, PassageRow)] == [
        (row.pid, row.title, row.text) for row in texts
    ]


def test_the_real_bright_queries_go_out_and_come_back(shared, tmp_path) -> None:
    rows = read("bright", shared / "bright", shared / "bright" / "qrels-fixed")
    for domain in ("biology", "psychology", "robotics", "pony"):
        asked = [row for row in of_kind(rows, QueryRow) if row.domain == domain]
        gold = [row for row in of_kind(rows, JudgmentRow) if row.domain == domain]
        bright.write_queries(tmp_path / f"queries/{domain}.jsonl", asked, {})
        bright.write_qrels(tmp_path / f"gold/{domain}.txt", gold)
    again = read("bright", tmp_path, tmp_path / "gold")
    assert key(of_kind(again, QueryRow)) == key(of_kind(rows, QueryRow))
    assert key(of_kind(again, JudgmentRow)) == key(of_kind(rows, JudgmentRow))


def test_real_runs_go_out_and_come_back(shared, tmp_path) -> None:
    path = shared / "bright" / "runs-reasonir" / "pony.run.gz"
    rows = list(RUN_FORMATS["trec_run"].read(path))
    trec.write_run(tmp_path / "pony.run", of_kind(rows, RunRow))
    assert list(RUN_FORMATS["trec_run"].read(tmp_path / "pony.run")) == rows


def key(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: (row.domain, row.qid, getattr(row, "pid", "")))
