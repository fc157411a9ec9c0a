"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/{split}.tsv`; the folder's name is the domain.

Splits hold judgments of different queries, so they make one gold; each judgment keeps the name
of its split.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.importers.blocks import Layout
from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, Record, unless_wrong
from corpus.importers.files import DataFile, Meter
from corpus.importers.listing import as_file, files_under, folders_in, name_of, stem_of
from corpus.importers.passages import read_passages
from corpus.importers.qrels import read_pairs, read_qrels
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import Place, Problem, QueryRow, Row
from corpus.importers.streams import first_bytes

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".parquet")
_PASSAGE = Layout(ids=("_id",), texts=("text",))


@dataclass(frozen=True, slots=True)
class Collection:
    """The files of one BEIR data set."""

    corpus: list[DataFile]
    queries: list[DataFile]
    golds: list[DataFile]


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a BEIR folder, or of a folder of BEIR folders.

    `qrels` (a file, or a folder of splits) takes the place of a single folder's own.
    """
    meter = meter or Meter()
    found = [_collection(each, path, qrels) for each in _roots(path)]
    if not found:
        yield nothing_here(path, "a folder with corpus.jsonl, queries.jsonl and qrels/")
        return
    if qrels and len(found) > 1:
        yield Problem(Place(qrels.name), "Qrels can be given for one folder at a time.")
        return
    for each in found:
        meter.expect([*each.queries, *each.golds, *each.corpus])
    for each in found:
        yield from _rows(each, meter)


def _roots(path: Path) -> list[Path]:
    """The folder itself if it is a data set, else those of its folders that are."""
    candidates = [path, *folders_in(path)]
    found = [each for each in candidates if _named(each, "corpus") or _named(each, "queries")]
    return [path] if path in found else found


def _named(folder: Path, name: str) -> list[Path]:
    return [file for ending in ENDINGS if (file := folder / f"{name}{ending}").is_file()]


def _collection(folder: Path, root: Path, qrels: Path | None) -> Collection:
    domain = name_of(folder)
    golds = files_under(qrels or folder / "qrels", deep=False)
    base = qrels or root
    return Collection(
        corpus=[as_file(each, root, domain) for each in _named(folder, "corpus")],
        queries=[as_file(each, root, domain) for each in _named(folder, "queries")],
        golds=[as_file(each, base, domain) for each in golds],
    )


def _rows(found: Collection, meter: Meter) -> Iterator[Row]:
    for file in found.queries:
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _query(file.domain, record)
    for file in found.golds:
        split = stem_of(file.path)
        if len(first_bytes(file).split(b"\n", 1)[0].split(b"\t")) == 3:
            yield from read_pairs(file, meter, gold=split)
        else:
            yield from read_qrels(file, meter, gold=split)
    for file in found.corpus:
        yield from read_passages(file, meter, _PASSAGE)


def _query(domain: str, record: Record) -> Iterator[Row]:
    qid = record.ident("_id", limit=QID_LIMIT)
    extra, dropped = other_fields(record, {"_id", "text"}, f"{domain}-{qid}")
    row = QueryRow(domain, qid, record.text("text"), record.place.at("text"), extra=extra)
    yield from unless_wrong(record.problems, row, *dropped)
