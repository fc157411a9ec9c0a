"""BRIDGE: per subset one JSONL of refined judgments and one corpus (docs/protocol.md 1.2).

Judgments: `q_id, query, answers, doc_id[]`. Corpora: `_id, title, text` for the two web-search
sets, `doc_id, text` for the other five. What a file holds is told by its first row.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from corpus.importers.blocks import Layout
from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, Record
from corpus.importers.files import DataFile, Meter
from corpus.importers.gold import distinct_ids
from corpus.importers.listing import as_file, files_under, stem_of
from corpus.importers.passages import read_passages
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import JudgmentRow, Oddity, Place, Problem, QueryRow, Row

# Names that say what a file or folder holds and not which subset it is of.
_KIND = r"qrels|queries|query|corpus|corpora|documents|annotations|bridge|test|data|datasets"
_GENERIC = re.compile(rf"(?:{_KIND})$", re.IGNORECASE)
_MARK = re.compile(rf"[_.-](?:{_KIND})$|^(?:{_KIND})[_.-]", re.IGNORECASE)
_DATA = re.compile(r"\.(?:(?:jsonl|json)(?:\.gz)?|parquet)$", re.IGNORECASE)
_PASSAGE = Layout(ids=("_id", "doc_id"), texts=("text",))
NOT_READ = "files that hold neither queries nor passages, not read"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a folder of subsets, of one subset's folder, or of one file."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "This format's gold is in its rows; it takes no qrels.")
        return
    paths = [each for each in files_under(path) if _DATA.search(each.name)]
    kinds = {each: _kind(each) for each in (as_file(p, path, subset_of(p, path)) for p in paths)}
    queries = [file for file, kind in kinds.items() if kind == "queries"]
    corpora = [file for file, kind in kinds.items() if kind == "corpus"]
    if not queries and not corpora:
        yield nothing_here(path, "files of queries (q_id, query, answers, doc_id) and of passages")
        return
    meter.expect([*queries, *corpora])
    yield from (Oddity(NOT_READ, file.name) for file, kind in kinds.items() if not kind)
    for file in queries:
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _query(file.domain, record)
    for file in corpora:
        yield from read_passages(file, meter, _PASSAGE)


def subset_of(file: Path, root: Path) -> str:
    """The subset that a file is of: its own name, or its folder's where that says only what it is.

    `nq/corpus.jsonl`, `qrels/nq.jsonl`, `nq_corpus.jsonl` and `nq.jsonl` are all of `nq`.
    """
    stem = _MARK.sub("", stem_of(file))
    if not _GENERIC.match(stem):
        return stem
    folders = [
        each for each in (file.parent, *file.parent.parents) if not _GENERIC.match(each.name)
    ]
    return folders[0].name if folders and folders[0].name else stem


def _kind(file: DataFile) -> str:
    """What the first row shows; a file that cannot be read is taken up, so that it is named."""
    for record in islice(records(file, Meter()), 1):
        if isinstance(record, Problem) or "q_id" in record.data:
            return "queries"
        return "corpus" if "text" in record.data else ""
    return ""


def _query(domain: str, record: Record) -> Iterator[Row]:
    qid = record.ident("q_id", limit=QID_LIMIT)
    owner = f"{domain}-{qid}"
    gold, repeats = distinct_ids(record, "doc_id", owner)
    extra, dropped = other_fields(record, {"q_id", "query", "answers", "doc_id"}, owner)
    row = QueryRow(
        domain=domain,
        qid=qid,
        text=record.text("query"),
        place=record.place.at("query"),
        answers=record.texts("answers"),
        extra=extra,
    )
    if record.problems:
        yield from record.problems
        return
    yield row
    if not row.answers:
        yield Oddity("questions without an answer", owner)
    yield from [*repeats, *dropped]
    place = record.place.at("doc_id")
    yield from (JudgmentRow(domain, qid, pid, 1, place) for pid in gold)
