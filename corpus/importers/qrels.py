"""Judgments in columns, as TREC and BEIR write them.

Four columns: query id, iteration or subtopic, passage id, label. The second column is the
iteration (`0`, `Q0`, any one word) if it never changes in a file, and names a subtopic if it does.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, text_fault
from corpus.importers.files import DataFile, Meter
from corpus.importers.rows import JudgmentRow, Key, Oddity, Place, Problem
from corpus.importers.streams import column_lines

# What a SmallInteger column holds.
LABELS = range(-32768, 32768)
_WHOLE = re.compile(r"[+-]?[0-9]{1,7}")
REPEATED = "judgments of a subtopic repeated"
_ITERATIONS = {"0", "Q0", "q0"}
Excluded: TypeAlias = Mapping[Key, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Judged:
    """The columns of one line, as they stand."""

    place: Place
    qid: str
    middle: str
    pid: str
    label: str


def read_qrels(
    file: DataFile, meter: Meter, excluded: Excluded | None = None, *, gold: str = ""
) -> Iterator[JudgmentRow | Problem | Oddity]:
    """Judgments of a TREC qrels file; lines that begin with `#` are comments.

    Where subtopics are judged there is one row for each (query, passage): its label is the
    highest of them. `gold` is the name that the rows bear, else the file's.
    """
    middles = _middles(file, meter.aside())
    rows = _rows(file, meter, excluded or {}, gold or file.name)
    if len(middles) > 1 and not middles <= _ITERATIONS:
        yield from _by_subtopic(rows)
    else:
        for each in rows:
            yield each if isinstance(each, Problem) else each[0]
    meter.end(file)


def read_pairs(
    file: DataFile, meter: Meter, excluded: Excluded | None = None, *, gold: str
) -> Iterator[JudgmentRow | Problem]:
    """Judgments of a BEIR file: query id, passage id and label by tabs, under a header."""
    is_first = True
    for each in column_lines(file, meter):
        if isinstance(each, Problem):
            yield each
            continue
        place, line = each
        columns = line.split("\t")
        if is_first and _is_header(columns):
            is_first = False
            continue
        is_first = False
        if len(columns) != 3:
            yield Problem(place, "Three columns by tabs are needed: query-id, corpus-id, score.")
        else:
            judged = Judged(place, columns[0], "", columns[1], columns[2].strip())
            yield _judgment(file.domain, judged, excluded or {}, gold)
    meter.end(file)


def _is_header(columns: list[str]) -> bool:
    return len(columns) == 3 and _whole(columns[2].strip()) is None


def _lines(file: DataFile, meter: Meter) -> Iterator[Judged | Problem]:
    for each in column_lines(file, meter):
        if isinstance(each, Problem):
            yield each
        elif not each[1].startswith("#"):
            place, line = each
            columns = _columns(line)
            missing = Problem(place, "Four columns are needed: query id, 0, passage id, label.")
            yield Judged(place, *columns) if columns else missing


def _columns(line: str) -> tuple[str, str, str, str] | None:
    """Passage ids may hold blanks, so the ends are cut first."""
    parts = line.split("\t")
    if len(parts) != 4:
        head = line.split(None, 2)
        parts = [*head[:2], *head[2].rsplit(None, 1)] if len(head) == 3 else []
    if len(parts) != 4:
        return None
    qid, middle, pid, label = parts
    return (qid, middle.strip(), pid, label.strip()) if qid and pid else None


def _middles(file: DataFile, meter: Meter) -> set[str]:
    """The second column's words; more than three are as good as all."""
    found: set[str] = set()
    for each in _lines(file, meter):
        if isinstance(each, Judged):
            found.add(each.middle)
            if len(found) > len(_ITERATIONS):
                break
    return found


def _rows(
    file: DataFile, meter: Meter, excluded: Excluded, gold: str
) -> Iterator[tuple[JudgmentRow, str] | Problem]:
    """Each line's judgment with its second column."""
    for each in _lines(file, meter):
        if isinstance(each, Problem):
            yield each
        else:
            row = _judgment(file.domain, each, excluded, gold)
            yield row if isinstance(row, Problem) else (row, each.middle)


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
            yield Problem(row.place.at("subtopic"), fault)
            continue
        key = row.qid, row.pid
        before = merged.get(key, row)
        given = {} if before.subtopics is None else before.subtopics
        if given.get(subtopic, row.label) != row.label:
            message = f"{row.pid} has the label {given[subtopic]} for this subtopic before."
            yield Problem(row.place, message)
        elif subtopic in given:
            yield Oddity(REPEATED, f"{row.domain}-{row.qid}: {row.pid}")
        else:
            given[subtopic] = row.label
            merged[key] = replace(before, label=max(before.label, row.label), subtopics=given)
    yield from merged.values()


def _judgment(domain: str, judged: Judged, excluded: Excluded, gold: str) -> JudgmentRow | Problem:
    place = judged.place
    ids = (("query id", judged.qid, QID_LIMIT), ("passage id", judged.pid, PID_LIMIT))
    for name, value, limit in ids:
        if fault := text_fault(value, limit) if value else "An id cannot be empty.":
            return Problem(place.at(name), fault)
    label = _whole(judged.label)
    if label is None:
        message = f"A whole number is needed here, not {judged.label[:40]!r}."
        return Problem(place.at("label"), message)
    if label > 0 and judged.pid in excluded.get((domain, judged.qid), ()):
        return Problem(place.at("passage id"), f"{judged.pid} is excluded and gold at once.")
    return JudgmentRow(domain, judged.qid, judged.pid, label, place.at("label"), gold=gold)


def _whole(text: str) -> int | None:
    value = int(text) if _WHOLE.fullmatch(text) else None
    return value if value in LABELS else None
