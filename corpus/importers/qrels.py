"""Judgments in columns, as TREC and BEIR write them.

Four columns: query id, iteration or subtopic, passage id, label. The second column is the
iteration (`0`, `Q0`, any one word) if it never changes in a file, and names a subtopic if it does.
Also as records: `qid`, `docid`, `label`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, faults_at, text_fault
from corpus.importers.files import DATA, DataFile, Meter
from corpus.importers.reading import each_line, records
from corpus.importers.rows import JudgmentRow, Key, Location, Oddity, Problem

# What a SmallInteger column holds.
LABELS = range(-32768, 32768)
_WHOLE = re.compile(r"[+-]?[0-9]{1,7}")
REPEATED = "judgments of a subtopic repeated"
TWO_LINES = (
    "These are the columns of two lines, as where files are joined and the last line of one has no "
    "end. Break the line; between tabs, ids may hold blanks."
)
_ITERATIONS = {"0", "Q0", "q0"}
Excluded: TypeAlias = Mapping[Key, frozenset[str]]
# The columns of one line, as they stand: query id, iteration or subtopic, passage id, label.
Columns: TypeAlias = tuple[str, str, str, str]


def read_qrels(
    file: DataFile, meter: Meter, excluded: Excluded | None = None, *, gold: str = ""
) -> Iterator[JudgmentRow | Problem | Oddity]:
    """Judgments of a TREC qrels file; lines that begin with `#` are comments. A file of JSON or
    parquet by its name holds records.

    Where subtopics are judged there is one row for each (query, passage): its label is the
    highest of them. `gold` is the name that the rows bear, else the file's.
    """

    if DATA.search(file.path.name):
        yield from read_judgments(file, meter, excluded, gold=gold)
        return

    def judged(location: Location, line: str) -> tuple[JudgmentRow, str] | Problem | None:
        columns = _columns(location, line)
        if columns is None or isinstance(columns, Problem):
            return columns
        row = _judgment(location, columns, file.domain, excluded or {}, gold or file.name)
        return row if isinstance(row, Problem) else (row, columns[1])

    middles: set[str] = set()
    for each in each_line(file, meter.aside(), _columns):
        middles |= set() if isinstance(each, Problem) else {each[1]}
        if len(middles) > len(_ITERATIONS):
            break
    rows = each_line(file, meter, judged)
    if len(middles) > 1 and not middles <= _ITERATIONS:
        yield from _by_subtopic(rows)
    else:
        yield from (row if isinstance(row, Problem) else row[0] for row in rows)
    meter.end(file)


def read_pairs(
    file: DataFile, meter: Meter, excluded: Excluded | None = None, *, gold: str
) -> Iterator[JudgmentRow | Problem]:
    """Judgments of a BEIR file: query id, passage id and label by tabs, under a header."""
    is_first = True

    def judged(location: Location, line: str) -> JudgmentRow | Problem | None:
        nonlocal is_first
        qid, pid, label = columns if len(columns := line.split("\t")) == 3 else ("", "", "")
        is_header = is_first and len(columns) == 3 and _whole(label.strip()) is None
        is_first = False
        if is_header:
            return None
        if len(columns) != 3:
            return Problem(
                location, "Three columns by tabs are needed: query-id, corpus-id, score."
            )
        found = qid, "", pid, label.strip()
        return _judgment(location, found, file.domain, excluded or {}, gold)

    yield from each_line(file, meter, judged)
    meter.end(file)


def read_judgments(
    file: DataFile, meter: Meter, excluded: Excluded | None = None, *, gold: str = ""
) -> Iterator[JudgmentRow | Problem]:
    """Judgments of a file of records: `qid`, `docid` and `label`, a whole number."""
    for each in records(file, meter):
        if isinstance(each, Problem):
            yield each
            continue
        qid, pid = each.ident("qid", limit=QID_LIMIT), each.ident("docid")
        found = qid, "", pid, str(each.whole("label"))
        if each.problems:
            yield from each.problems
        else:
            yield _judgment(each.location, found, file.domain, excluded or {}, gold or file.name)


def _columns(location: Location, line: str) -> Columns | Problem | None:
    """Passage ids may hold blanks, so the ends are cut first."""
    if line.startswith("#"):
        return None
    parts = line.split("\t")
    if len(parts) != 4:
        head = line.split(None, 2)
        parts = [*head[:2], *head[2].rsplit(None, 1)] if len(head) == 3 else []
        if len(parts) == 4 and _is_joined(parts[1], parts[2].split()):
            return Problem(location, TWO_LINES)
    if len(parts) != 4 or not parts[0] or not parts[2]:
        return Problem(location, "Four columns are needed: query id, 0, passage id, label.")
    qid, middle, pid, label = parts
    return qid, middle.strip(), pid, label.strip()


def _is_joined(middle: str, words: list[str]) -> bool:
    """Whether a passage id goes on with a label and the second column of another line."""
    pairs = pairwise(words[1:-1])
    return any(other == middle and re.match(r"[+-]?[0-9]", label) for label, other in pairs)


def _by_subtopic(
    rows: Iterator[tuple[JudgmentRow, str] | Problem],
) -> Iterator[JudgmentRow | Problem | Oddity]:
    merged: dict[Key, JudgmentRow] = {}
    for each in rows:
        if isinstance(each, Problem):
            yield each
            continue
        row, subtopic = each
        if fault := text_fault(subtopic, QID_LIMIT):
            yield Problem(row.location.at("subtopic"), fault)
            continue
        key = row.qid, row.pid
        before = merged.get(key, row)
        given = {} if before.subtopics is None else before.subtopics
        if given.get(subtopic, row.label) != row.label:
            message = f"{row.pid} has the label {given[subtopic]} for this subtopic before."
            yield Problem(row.location, message)
        elif subtopic in given:
            yield Oddity(REPEATED, f"{row.domain}-{row.qid}: {row.pid}")
        else:
            given[subtopic] = row.label
            merged[key] = replace(before, label=max(before.label, row.label), subtopics=given)
    yield from merged.values()


def _judgment(
    location: Location, columns: Columns, domain: str, excluded: Excluded, gold: str
) -> JudgmentRow | Problem:
    qid, _, pid, written = columns
    for name, value in (("query id", qid), ("passage id", pid)):
        if not value:
            return Problem(location.at(name), "An id cannot be empty.")
    for fault in faults_at(location, ("query id", qid, QID_LIMIT), ("passage id", pid, PID_LIMIT)):
        return fault
    label = _whole(written)
    if label is None:
        return Problem(
            location.at("label"), f"A whole number is needed here, not {written[:40]!r}."
        )
    if label > 0 and pid in excluded.get((domain, qid), ()):
        return Problem(location.at("passage id"), f"{pid} is excluded and gold at once.")
    return JudgmentRow(domain, qid, pid, label, location.at("label"), gold=gold)


def _whole(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None  # a range is searched from end to end for what is no number
    value = int(text)
    return value if value in LABELS else None
