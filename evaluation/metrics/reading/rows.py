"""What the readers of files share: faults are raised, oddities counted; JSON whose objects name
nothing twice is read fast."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from corpus.importers.files import DataFile, Meter, as_file, stem_of
from corpus.importers.reading import first_bytes
from corpus.importers.rows import Oddity, Problem
from evaluation.metrics.faults import MetricFault

TEXT, JSON, PARQUET = "text", "json", "parquet"
# What compressed files may unpack to.
UNPACKED_LIMIT = 2 * 1024**3
# By what files call a field, what it is called here.
Names = Mapping[str, str]
_BOM = b"\xef\xbb\xbf"
_QUOTE = ord('"')
_PART = 256 * 1024


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


def new_meter(names: Names | None = None) -> Meter:
    """For reading one file whose records name their fields so (corpus/importers/reading.py)."""
    return Meter(UNPACKED_LIMIT, names)


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


def parsed(content: bytes) -> Any:
    """The value; raises orjson.JSONDecodeError."""
    return orjson.loads(content.removeprefix(_BOM))


def string_count(content: bytes) -> int:
    """How many texts valid JSON holds, names included.

    A parser that builds dicts drops a name that comes again; fewer texts in its result than here
    show it, at the cost of looking for a byte.
    """
    codes = np.frombuffer(content, np.uint8)
    # In parts that stay in the processor's cache; several times as fast as bytes.count.
    parts = (codes[start : start + _PART] for start in range(0, len(codes), _PART))
    quotes = sum(int(np.count_nonzero(part == _QUOTE)) for part in parts)
    if b"\\" in content:
        # Pairs of backslashes stand for themselves; what is left before a quote escapes it.
        quotes -= content.replace(b"\\\\", b"").count(b'\\"')
    return quotes // 2
