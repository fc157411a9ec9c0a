"""A run out of one file: TREC's columns or JSON, either gzipped.

What is sound is read in one go; anything unusual is read again by the importers, line by line,
which name each fault and count each oddity.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from corpus.importers.files import DataFile, Meter
from corpus.importers.formats import RUN_FORMATS
from corpus.importers.reading import Unreadable, content_of
from corpus.importers.run_names import run_name
from corpus.importers.runs import DUPLICATE, MORE_TAGS, RANKS, UNSORTED
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.reading.rows import (
    JSON,
    PARQUET,
    Names,
    data_file,
    good_rows,
    kind_of,
    new_meter,
    parsed,
    string_count,
)
from evaluation.metrics.run import Flags, Run

_LARGE = 1_000_000


@dataclass(frozen=True)
class RunFile:
    """A run with the name its file gives it ("" if none) and what was odd, by kind."""

    run: Run
    name: str
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def repeated(self) -> int:
        """Passages named again for a query, which were left out of the run."""
        return self.notes[DUPLICATE]


def read_run(path: Path, names: Names | None = None) -> RunFile:
    """The run of a file; raises MetricFault naming file, line and field of every fault."""
    file = data_file(path)
    kind = kind_of(file)
    if kind == PARQUET:
        raise MetricFault([f"{file.name}: A run is a TREC file or one JSON object, not parquet."])
    found = _json(file) if kind == JSON else _trec(file)
    return found or _careful(file, "score_json" if kind == JSON else "trec_run", new_meter(names))


def _json(file: DataFile) -> RunFile | None:
    """The run, or None where it needs a closer look."""
    try:
        content = content_of(file, new_meter())
        queries = parsed(content)
        if not queries or not isinstance(queries, dict) or not _is_whole(content, queries):
            return None
        # Without an escape, valid JSON holds neither NUL nor half a surrogate pair.
        run = Run.of(queries, are_texts=b"\\" not in content)
        return RunFile(run, run_name(file.path)[1])
    except (Unreadable, orjson.JSONDecodeError, MetricFault):
        return None


def _is_whole(content: bytes, queries: dict[str, Any]) -> bool:
    """Whether every text of the file stands in the value as an id of a query or of a list."""
    if not all(isinstance(each, dict | list) for each in queries.values()):
        return False
    return string_count(content) == len(queries) + sum(map(len, queries.values()))


def _trec(file: DataFile) -> RunFile | None:
    """The same for lines that are all as they should be: anything odd needs a closer look."""
    try:
        content = content_of(file, new_meter())
        if len(content) > _LARGE and (found := _large(content)) is not None:
            return found
        queries, name = _plain_lines(content.decode("utf-8-sig").split("\n"))
        run = Run.of(queries)
    except (Unreadable, ValueError):  # a MetricFault and what is no UTF-8 are ValueErrors
        return None
    return None if run.unsorted or not queries else RunFile(run, name)


def _large(content: bytes) -> RunFile | None:
    """The same in a third of the time, where one blank or tab parts six columns everywhere.

    What is odd about ranks, names and the order of scores is counted; None where a query comes
    back or a passage is ranked twice.
    """
    from pyarrow import ArrowInvalid  # takes longer to import than a small file to read

    if b"\0" in content or b"0x" in content:  # pyarrow reads 0x1f as a number
        return None
    try:
        table = _table(content)
    except ArrowInvalid:
        return None
    owners, tags = table["qid"].combine_chunks(), table["tag"].combine_chunks()
    codes = np.asarray(owners.indices)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) != len(owners.dictionary):
        return None
    ends = [*starts[1:].tolist(), len(codes)]
    pids, scores = table["pid"].to_numpy().tolist(), table["score"].to_numpy().tolist()
    lists = [
        dict(zip(pids[start:end], scores[start:end], strict=True))
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]
    if sum(map(len, lists)) < len(pids):
        return None
    qids = owners.dictionary.take(codes[starts]).to_pylist()
    run = Run.of(dict(zip(qids, lists, strict=True)), are_texts=True)

    def changed(where: Flags) -> int:
        """In how many queries, given for each line whether it differs so from the one before."""
        where[starts] = False
        return len(np.unique(codes[where]))

    names = np.asarray(tags.indices)
    odd = {
        UNSORTED: run.unsorted,
        RANKS: changed(np.diff(table["rank"].to_numpy(), prepend=0) <= 0),
        MORE_TAGS: changed(np.diff(names, prepend=0) != 0),
    }
    name = tags.dictionary[int(names[0])].as_py()
    return RunFile(run, name, Counter({what: count for what, count in odd.items() if count}))


def _table(content: bytes) -> Any:
    """The columns; raises ArrowInvalid."""
    import pyarrow as pa
    from pyarrow import csv

    few = pa.dictionary(pa.int32(), pa.string())
    columns = {"qid": few, "Q0": pa.string(), "pid": pa.string(), "rank": pa.int64()}
    columns |= {"score": pa.float64(), "tag": few}
    first = content[: content.find(b"\n")]
    return csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(column_names=list(columns)),
        parse_options=csv.ParseOptions(delimiter="\t" if b"\t" in first else " ", quote_char=False),
        convert_options=csv.ConvertOptions(column_types=columns, null_values=[]),
    )


def _plain_lines(lines: list[str]) -> tuple[dict[str, dict[str, float]], str]:
    """Scores by query and passage, and the name of the run; raises ValueError at anything odd.

    Odd are other than six columns, a query that comes back, a passage ranked twice, ranks that do
    not count up, a second name.
    """
    queries: dict[str, dict[str, float]] = {}
    scores: dict[str, float] = {}
    last, before, name = "", 0, ""
    for line in lines:
        if not (columns := line.split()):
            continue
        qid, _, pid, rank, score, tag = columns
        if qid != last:
            if qid in queries:
                raise ValueError
            scores = queries[qid] = {}
            last, before, name = qid, -1, name or tag
        if pid in scores or tag != name or "_" in score or int(rank) <= before:
            raise ValueError
        scores[pid], before = float(score), int(rank)
    return queries, name


def _careful(file: DataFile, format_name: str, meter: Meter) -> RunFile:
    notes: Counter[str] = Counter()
    reader = RUN_FORMATS[format_name].read(file.path, meter=meter)
    rows = list(good_rows(reader, notes))
    if not rows:
        raise MetricFault([f"{file.name}: There is no ranking in this file."])
    lists = ((row.qid, row.pids, row.scores) for row in rows)
    return RunFile(Run.of_lists(lists), rows[0].tag, notes)
