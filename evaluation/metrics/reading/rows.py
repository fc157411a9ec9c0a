"""What the readers of files share: faults are raised, oddities counted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from corpus.importers.files import DataFile
from corpus.importers.listing import as_file, stem_of
from corpus.importers.rows import Oddity, Problem
from corpus.importers.streams import first_bytes
from evaluation.metrics.faults import MetricFault

TEXT, JSON, PARQUET = "text", "json", "parquet"


def data_file(path: Path) -> DataFile:
    """A file under its own name; raises MetricFault where none can be read."""
    if not path.is_file():
        what = "This is no regular file; name one." if path.exists() else "There is no such file."
        raise MetricFault([f"{path}: {what}"])
    try:
        path.open("rb").close()
    except OSError as error:
        raise MetricFault([f"{path}: The file cannot be read ({error.strerror})."]) from None
    return as_file(path, path, stem_of(path))


def kind_of(file: DataFile) -> str:
    """Parquet by its name; JSON by how it begins; else columns of text."""
    if file.path.suffix.lower() == ".parquet":
        return PARQUET
    return JSON if first_bytes(file)[:1] in (b"{", b"[") else TEXT


def good_rows(rows: Iterable[Any], notes: Counter[str]) -> Iterator[Any]:
    """The rows that are neither; oddities are counted, and problems raised together at the end."""
    problems: list[Problem] = []
    for each in rows:
        if isinstance(each, Problem):
            problems.append(each)
        elif isinstance(each, Oddity):
            notes[each.what] += 1
        elif not problems:
            yield each
    if problems:
        raise MetricFault.of(map(str, problems))
