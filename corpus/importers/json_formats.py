"""Small formats of JSON records: BEIR, BRIDGE, HotpotQA, and pairs by themselves.

BEIR is `corpus.jsonl`, `queries.jsonl` and `qrels/{split}.tsv`; the folder's name is the domain.
Splits hold judgments of different queries, so they make one gold; each judgment keeps the name
of its split.

BRIDGE has per subset one file of refined judgments (`q_id, query, answers, doc_id[]`) and one
corpus (docs/protocol.md 1.2): `_id, title, text` for the two web-search sets, `doc_id, text` for
the other five. The first row shows what a file contains.

HotpotQA-style rows are a question, its answers, and labelled paragraphs, whose ids repeat in every
question: a passage id is `{question_id}/{id}`. Pairs are rows of id, query, answers, passage, each
one (query, passage) to judge; a label is its gold, where it is known.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from corpus.importers.blocks import Layout
from corpus.importers.fields import (
    PID_LIMIT,
    QID_LIMIT,
    TITLE_LIMIT,
    Record,
    distinct_ids,
    text_fault,
)
from corpus.importers.files import (
    DATA,
    KINDS_OF_FILE,
    DataFile,
    Meter,
    as_file,
    data_files,
    files_under,
    folders_in,
    missing,
    name_of,
    stem_of,
)
from corpus.importers.qrels import LABELS, read_pairs, read_qrels
from corpus.importers.reading import first_bytes, records
from corpus.importers.records import about, each_record, query, read_passages
from corpus.importers.rows import (
    JudgmentRow,
    Location,
    Oddity,
    PairRow,
    PassageRow,
    Problem,
    QueryRow,
    Row,
)

NO_ANSWER = "questions without an answer"

# BEIR

_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".parquet")
_BEIR = Layout(ids=("_id",), texts=("text",))


def read_beir(path: Path, meter: Meter, qrels: Path | None) -> Iterator[Row]:
    """Rows of a BEIR folder, or of a folder of BEIR folders.

    `qrels` (a file, or a folder of splits) takes the place of a single folder's own.
    """
    roots = [each for each in (path, *folders_in(path)) if _parts(each, "corpus", "queries")]
    roots = [path] if path in roots else roots
    if not roots:
        yield missing(
            path, f"a folder with corpus.jsonl, queries.jsonl and qrels/ ({KINDS_OF_FILE})"
        )
        return
    if qrels and len(roots) > 1:
        yield Problem(Location(qrels.name), "Qrels can be given for one folder at a time.")
        return

    def files(folder: Path, part: str) -> list[DataFile]:
        is_gold = part == "qrels"
        found = files_under(qrels or folder / part, deep=False) if is_gold else _parts(folder, part)
        root = (qrels or path) if is_gold else path
        return [as_file(each, root, name_of(folder)) for each in found]

    for folder in roots:
        meter.expect(f for part in ("queries", "qrels", "corpus") for f in files(folder, part))
    for folder in roots:
        yield from each_record(files(folder, "queries"), meter, _beir_query)
        for file in files(folder, "qrels"):
            is_beir = len(first_bytes(file).split(b"\n", 1)[0].split(b"\t")) == 3
            read = read_pairs if is_beir else read_qrels
            yield from read(file, meter, gold=stem_of(file.path))
        for file in files(folder, "corpus"):
            yield from read_passages(file, meter, _BEIR)


def _parts(folder: Path, *names: str) -> list[Path]:
    """The files of these names that the folder has."""
    found = (folder / f"{name}{ending}" for name in names for ending in _ENDINGS)
    return [each for each in found if each.is_file()]


def _beir_query(domain: str, record: Record) -> Iterator[Row]:
    qid = record.ident("_id", limit=QID_LIMIT)
    yield from query(domain, qid, record, text="text", known=("_id",))


# BRIDGE

# Names that say what a file or folder holds and not which subset it is of.
_KIND = r"qrels|queries|query|corpus|corpora|documents|annotations|bridge|test|data|datasets"
_GENERIC = re.compile(rf"(?:{_KIND})$", re.IGNORECASE)
_MARK = re.compile(rf"[_.-](?:{_KIND})$|^(?:{_KIND})[_.-]", re.IGNORECASE)
_BRIDGE = Layout(ids=("_id", "doc_id"), texts=("text",))
NOT_READ = "files that hold neither queries nor passages, not read"


def read_bridge(path: Path, meter: Meter) -> Iterator[Row]:
    """Rows of a folder of subsets, of one subset's folder, or of one file."""
    paths = [each for each in files_under(path) if DATA.search(each.name)]
    files = [as_file(each, path, subset_of(each)) for each in paths]
    kinds = {each: _kind(each, meter.aside()) for each in files}
    queries = [file for file, kind in kinds.items() if kind == "queries"]
    corpora = [file for file, kind in kinds.items() if kind == "corpus"]
    if not queries and not corpora:
        requested = "files of queries (q_id, query, answers, doc_id) and of passages"
        yield missing(path, f"{requested} ({KINDS_OF_FILE})")
        return
    meter.expect([*queries, *corpora])
    yield from (Oddity(NOT_READ, file.name) for file, kind in kinds.items() if not kind)
    yield from each_record(queries, meter, _bridge_query)
    for file in corpora:
        yield from read_passages(file, meter, _BRIDGE)


def subset_of(file: Path) -> str:
    """The subset that a file is of: its own name, or its folder's where that says only what it is.

    `nq/corpus.jsonl`, `qrels/nq.jsonl`, `nq_corpus.jsonl` and `nq.jsonl` are all of `nq`.
    """
    stem = _MARK.sub("", stem_of(file))
    if not _GENERIC.match(stem):
        return stem
    folders = [each for each in file.parents if not _GENERIC.match(each.name)]
    return folders[0].name if folders and folders[0].name else stem


def _kind(file: DataFile, meter: Meter) -> str:
    """What the first row shows; a file that cannot be read is included, so that it is named."""
    for record in islice(records(file, meter), 1):
        if isinstance(record, Problem) or "q_id" in record.data:
            return "queries"
        return "corpus" if "text" in record.data else ""
    return ""


def _bridge_query(domain: str, record: Record) -> Iterator[Row]:
    qid = record.ident("q_id", limit=QID_LIMIT)
    owner = f"{domain}-{qid}"
    gold, repeats = distinct_ids(record, "doc_id", owner)
    answers = record.texts("answers")
    known = ("q_id", "doc_id")
    yield from query(domain, qid, record, text="query", known=known, answers=answers)
    if not answers:
        yield Oddity(NO_ANSWER, owner)
    yield from repeats
    location = record.location.at("doc_id")
    yield from (JudgmentRow(domain, qid, pid, 1, location) for pid in gold)


# HotpotQA

HOTPOTQA = "hotpotqa"


def read_hotpotqa(path: Path, meter: Meter) -> Iterator[Row]:
    """Rows of a file (or a folder of files); every paragraph is judged and paired."""
    files = data_files(path)
    if not files:
        yield missing(path, f"a file of questions ({KINDS_OF_FILE})")
    meter.expect(files)
    yield from each_record(files, meter, _question)


def _question(_domain: str, record: Record) -> Iterator[Row]:
    qid = record.ident("question_id", limit=QID_LIMIT)
    answers = tuple(dict.fromkeys(_answers(record)))
    location = record.location.at("question_text")
    yield QueryRow(HOTPOTQA, qid, record.text("question_text"), location, answers=answers)
    if not answers:
        yield Oddity(NO_ANSWER, qid)
    for paragraph in record.items("contexts"):
        yield from _paragraph(qid, paragraph)


def _paragraph(qid: str, record: Record) -> Iterator[Row]:
    pid = f"{qid}/{record.ident('id')}"
    if fault := text_fault(pid, PID_LIMIT):
        record.wrong("id", fault)
    yield PassageRow(
        domain=HOTPOTQA,
        pid=pid,
        text=record.text("paragraph_text"),
        location=record.location.at(record.prefix + "paragraph_text"),
        title=record.text("title", limit=TITLE_LIMIT),
    )
    label = int(record.flag("is_supporting"))
    location = record.location.at(record.prefix + "is_supporting")
    yield JudgmentRow(HOTPOTQA, qid, pid, label, location)
    yield PairRow(HOTPOTQA, qid, pid, record.location)


def _answers(record: Record) -> Iterator[str]:
    """Every span; where an answer has none, its number or its date."""
    for each in record.items("answers_objects"):
        spans = [span for span in each.maybe_texts("spans") or () if span]
        yield from spans or filter(None, [_number(each) or _date(each)])


def _number(answer: Record) -> str:
    value = answer.data.get("number")
    return str(value) if isinstance(value, str | int | float) and value != "" else ""


def _date(answer: Record) -> str:
    parts = answer.data.get("date")
    if not isinstance(parts, dict):
        return ""
    named = (str(parts.get(name) or "") for name in ("day", "month", "year"))
    return " ".join(filter(None, named))


# Pairs to debate

PAIRS = "pairs"


def read_pairs_to_debate(path: Path, meter: Meter) -> Iterator[Row]:
    """Rows of a file (or a folder of files); query and passage take the row's id."""
    files = data_files(path)
    if not files:
        yield missing(path, f"a file of pairs ({KINDS_OF_FILE})")
    meter.expect(files)
    yield from each_record(files, meter, _pair)


def _pair(_domain: str, record: Record) -> Iterator[Row]:
    key, text = record.ident("id", limit=QID_LIMIT), record.text("query")
    answers = record.texts("answers")
    yield QueryRow(PAIRS, key, text, record.location.at("query"), answers=answers)
    text, location = record.text("passage"), record.location.at("passage")
    yield PassageRow(PAIRS, key, text, location, **about(record))
    if record.given("label"):
        is_flag = isinstance(record.data["label"], bool)
        label = int(record.flag("label")) if is_flag else record.whole("label")
        if label not in LABELS:
            record.wrong("label", f"A label is from {LABELS[0]} to {LABELS[-1]}.")
        yield JudgmentRow(PAIRS, key, key, label, record.location.at("label"))
    yield PairRow(PAIRS, key, key, record.location)
