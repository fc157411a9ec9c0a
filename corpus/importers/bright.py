"""BRIGHT as it was published on a hub, or its queries alone (docs/protocol.md 1.1 and 1.5).

Queries stand in `examples/` or `queries/`, or in one file; passages in `documents/`, pages in
`long_documents/`. Without them gold ids become passages whose text is not loaded.
"""

from collections.abc import Iterator
from pathlib import Path

from corpus.importers.blocks import Layout
from corpus.importers.bright_pro import paged_passage
from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, Record, unless_wrong
from corpus.importers.files import DataFile, Meter, data_files
from corpus.importers.gold import check_excluded, choose_qrels, distinct_ids, excluded_ids
from corpus.importers.listing import folders_in
from corpus.importers.passages import read_passages
from corpus.importers.qrels import read_qrels
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import (
    DocumentRow,
    JudgmentRow,
    Key,
    Oddity,
    Problem,
    QueryRow,
    Row,
)

QUERIES = ("examples", "queries")
_KNOWN = {*QUERIES, "documents", "long_documents", "qrels"}
_FIELDS = {
    "id",
    "query",
    "gold_ids",
    "gold_ids_long",
    "excluded_ids",
    "reasoning",
    "gold_answer",
}
_PASSAGE = Layout(ids=("id",), texts=("content",), title="", keeps_others=False)
NOT_READ = "folders of other query sets, not read"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a BRIGHT folder, of its folder of queries, or of one file of queries.

    `qrels` (a file named after its domain, or a folder of them) is the gold of its domains;
    elsewhere the rows' own gold_ids are.
    """
    meter = meter or Meter()
    files = query_files(path)
    pages = data_files(path / "long_documents", inside="long_documents/")
    passages = data_files(path / "documents", inside="documents/")
    if not files and not passages:
        wanted = "a folder with examples/ or queries/, and documents/, or a file of queries"
        yield nothing_here(path, wanted)
        return
    chosen = list(choose_qrels(qrels, {each.domain for each in files})) if qrels else []
    golds = [each for each in chosen if isinstance(each, DataFile)]
    yield from (each for each in chosen if isinstance(each, Problem))
    meter.expect([*files, *pages, *passages, *golds])
    yield from _other_folders(path)
    yield from _queries(files, golds, meter)
    yield from _pages(pages, meter)
    yield from _passages(passages, {each.domain for each in pages}, meter)


def query_files(path: Path) -> list[DataFile]:
    """The files of queries that a path means."""
    for name in QUERIES:
        if (path / name).is_dir():
            return data_files(path / name, inside=f"{name}/")
    return data_files(path)


def _other_folders(path: Path) -> Iterator[Oddity]:
    for folder in folders_in(path):
        if folder.name not in _KNOWN and data_files(folder):
            yield Oddity(NOT_READ, folder.name)


def _queries(files: list[DataFile], golds: list[DataFile], meter: Meter) -> Iterator[Row]:
    excluded: dict[Key, frozenset[str]] = {}
    judged = {each.domain for each in golds}
    for file in files:
        for record in records(file, meter):
            yield from _query(file.domain, record, excluded, own_gold=file.domain not in judged)
    for file in golds:
        yield from read_qrels(file, meter, excluded)


def _query(
    domain: str, record: Record | Problem, excluded: dict[Key, frozenset[str]], *, own_gold: bool
) -> Iterator[Row]:
    if isinstance(record, Problem):
        yield record
        return
    qid = record.ident("id", limit=QID_LIMIT)
    owner = f"{domain}-{qid}"
    gold, repeats = distinct_ids(record, "gold_ids", owner)
    banned, notes = excluded_ids(record, owner)
    extra, dropped = other_fields(record, _FIELDS, owner)
    row = QueryRow(
        domain=domain,
        qid=qid,
        text=record.text("query"),
        place=record.place.at("query"),
        gold_answer=record.maybe_text("gold_answer"),
        reasoning=record.maybe_text("reasoning"),
        gold_ids_long=record.maybe_texts("gold_ids_long"),
        excluded_ids=banned,
        extra=extra,
    )
    if own_gold:
        check_excluded(record, banned, set(gold))
    excluded[domain, qid] = frozenset(banned or ())
    if record.problems:
        yield from record.problems
        return
    yield row
    yield from [*repeats, *notes, *dropped]
    if own_gold:
        place = record.place.at("gold_ids")
        yield from (JudgmentRow(domain, qid, pid, 1, place) for pid in gold)


def _pages(files: list[DataFile], meter: Meter) -> Iterator[Row]:
    """Pages first, so that passages find the page they are cut from."""
    for file in files:
        for record in records(file, meter):
            if isinstance(record, Problem):
                yield record
                continue
            doc_id, text = record.ident("id"), record.text("content")
            page = DocumentRow(file.domain, doc_id, text, record.place.at("content"))
            yield from unless_wrong(record.problems, page)


def _passages(files: list[DataFile], paged: set[str], meter: Meter) -> Iterator[Row]:
    """As columns where they are sound and need no page."""
    for file in files:
        if file.domain not in paged:
            yield from read_passages(file, meter, _PASSAGE)
            continue
        for record in records(file, meter):
            yield from paged_passage(file.domain, record, _PASSAGE)
