"""Queries in other words: BRIGHT's folders of queries as a model words them, and any like them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from corpus.importers.bright import KNOWN
from corpus.importers.fields import DOMAIN_LIMIT, QID_LIMIT, Record
from corpus.importers.files import KINDS_OF_FILE, Meter, data_files, folders_in, missing
from corpus.importers.records import each_record
from corpus.importers.rows import Row, WordingRow

# What BRIGHT's folders of them end with.
_REWRITTEN = "_reason"


def read_wordings(path: Path, meter: Meter) -> Iterator[Row]:
    """Queries in other words: records of `id` and `query`, a file a domain; a folder of such files
    is a source, as BRIGHT's `gpt4_reason/`. A record may name its `source` and `domain` itself."""
    sources = {
        folder.name.removesuffix(_REWRITTEN): data_files(folder, inside=f"{folder.name}/")
        for folder in folders_in(path)
        if folder.name not in KNOWN
    }
    if files := data_files(path):
        sources[""] = files
    if not any(sources.values()):
        yield missing(path, f"files of queries, or folders of them ({KINDS_OF_FILE})")
        return
    meter.expect(file for files in sources.values() for file in files)
    for source, files in sources.items():
        yield from each_record(files, meter, partial(_wording, source=source))


def _wording(domain: str, record: Record, *, source: str) -> Iterator[Row]:
    yield WordingRow(
        record.maybe_text("domain", limit=DOMAIN_LIMIT) or domain,
        record.ident("id", limit=QID_LIMIT),
        record.text("query"),
        record.maybe_text("source", limit=QID_LIMIT) or source,
        record.location.at("query"),
    )
