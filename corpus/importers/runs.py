"""Files of what systems retrieved (docs/protocol.md 1.2 and 1.5).

TREC runs: query id, Q0, passage id, rank, score, tag. The order of the file is kept; ranks are
looked at but not believed. A file whose queries stand together is read query by query; any other
is kept in memory, up to a bound.

Runs as one JSON object per file: `{qid: {passage id: score}}`, `{qid: [passage id, ...]}` (already
ranked), or BRIDGE's `{qid: {passage id: {"score": ..., "text": ...}}}`; or records, one for each
passage (`qid`, `docid`, `score`).
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, faults_at, text_fault
from corpus.importers.files import DataFile, Meter, as_file, files_under, missing
from corpus.importers.reading import (
    NOT_UTF8,
    Unreadable,
    column_lines,
    content_of,
    each_line,
    first_bytes,
    records,
)
from corpus.importers.rows import Location, Oddity, Problem, RunFileRow, RunRow
from corpus.importers.run_names import is_pattern, run_name

_ENDINGS = {
    "trec_run": re.compile(r"\.(?:run|trec|txt|res|results|test|trunc)(?:\.gz)?$", re.IGNORECASE),
    "score_json": re.compile(r"\.jsonl?(?:\.gz)?$", re.IGNORECASE),
}

DUPLICATE = "passages ranked twice for a query, the best kept"
UNSORTED = "rankings that are not in the order of their scores"
NO_TAG = "runs without a name"
SCATTERED = "runs whose queries do not stand together"
RANKS = "rankings whose ranks do not count up with the lines"
MORE_TAGS = "runs under more than one name, the first kept"
TEXTS = "passage texts in a run, not read"
SIX_COLUMNS = "Six columns are needed: query id, Q0, passage id, rank, score, tag."
TWO_LINES = (
    "These are the columns of two lines, as where files are joined and the last line of one has no "
    "end. Break the line; between tabs, ids may hold blanks and numbers."
)
# Lines of a file whose queries do not stand together.
MAX_SCATTERED = 5_000_000
# Queries of a file, and lines of a query.
MAX_TOGETHER = 1_000_000
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.I
)


class Line(NamedTuple):
    """One line of a TREC run."""

    location: Location
    qid: str
    pid: str
    rank: int
    score: float
    tag: str


class _Object(list):  # type: ignore[type-arg]
    """The pairs of a JSON object, distinct from a JSON list; a repeated name is seen."""


# What a JSON object or list gives of one query: passage ids and what stands beside them.
Pairs: TypeAlias = list[tuple[Any, Any]]


def read_trec(path: Path, meter: Meter, domain: str) -> Iterator[RunFileRow]:
    """One RunRow per query of each file; `domain` as `run_name` takes it."""
    requested = "a run file (.run, .trec or .txt, also with .gz)"
    yield from _each_file(path, "trec_run", requested, meter, domain, _lines_of_file)


def read_json(path: Path, meter: Meter, domain: str) -> Iterator[RunFileRow]:
    """The same of JSON objects."""
    requested = "a file of scores (.json, also with .gz)"
    yield from _each_file(path, "score_json", requested, meter, domain, _object_of_file)


def run_files(path: Path, format: str, domain: str) -> list[DataFile]:
    """The run files of a folder, or the file itself whatever its name, each with its domain.

    Where a pattern of paths is given a folder's files are those that fit it. Raises BadPattern.
    """
    by_pattern, ending = is_pattern(domain), _ENDINGS[format]
    found = [
        each
        for each in files_under(path)
        if each == path or (run_name(each, domain)[0] if by_pattern else ending.search(each.name))
    ]
    return [as_file(each, path, run_name(each, domain)[0]) for each in found]


def _each_file(
    path: Path,
    format: str,
    requested: str,
    meter: Meter,
    domain: str,
    read: Callable[[DataFile, str, Meter], Iterator[RunFileRow]],
) -> Iterator[RunFileRow]:
    files = run_files(path, format, domain)
    if not files:
        yield missing(path, f"{requested} that fits {domain}" if is_pattern(domain) else requested)
    meter.expect(files)
    for file in files:
        name = run_name(file.path, domain)[1] if is_pattern(domain) else ""
        for row in read(file, file.domain, meter):
            yield replace(row, tag=name) if name and isinstance(row, RunRow) else row
        meter.end(file)


def _run_rows(row: RunRow, repeated: Iterable[str]) -> Iterator[RunFileRow]:
    """A ranking and what is unusual about it (docs/protocol.md 1.5 rules 1 and 4)."""
    yield row
    owner = f"{row.domain}-{row.qid}"
    yield from (Oddity(DUPLICATE, f"{owner}: {pid}") for pid in repeated)
    if row.scores is not None and any(a < b for a, b in pairwise(row.scores)):
        yield Oddity(UNSORTED, owner)


# TREC's columns


def _lines_of_file(file: DataFile, domain: str, meter: Meter) -> Iterator[RunFileRow]:
    is_scattered, fault = _survey(file, meter.aside())
    if fault:
        yield Problem(Location(file.name), fault)
        return
    if is_scattered:
        yield Oddity(SCATTERED, file.name)
    groups = _collected if is_scattered else _in_order
    for group in groups(each_line(file, meter, _line)):
        yield from [group] if isinstance(group, Problem) else _ranking(domain, group)


def _survey(file: DataFile, meter: Meter) -> tuple[bool, str]:
    """Whether a query comes back after another, and why the file is too much to hold, or ""."""
    seen: set[str] = set()
    last, count, together, is_scattered = "", 0, 0, False
    for each in column_lines(file, meter):
        if isinstance(each, Problem):
            continue
        qid = _parts(each[1])[0]
        count, together = count + 1, together + 1
        if qid != last:
            is_scattered = is_scattered or qid in seen
            seen.add(qid)
            last, together = qid, 1
        if together > MAX_TOGETHER or len(seen) > MAX_TOGETHER:
            return is_scattered, f"More than {MAX_TOGETHER:,} queries, or lines of one query."
        if is_scattered and count > MAX_SCATTERED:
            return True, f"Queries stand apart over {MAX_SCATTERED:,} lines; sort them by query."
    return is_scattered, ""


def _in_order(lines: Iterable[Line | Problem]) -> Iterator[list[Line] | Problem]:
    for qid, group in groupby(lines, lambda each: each.qid if isinstance(each, Line) else None):
        if qid is None:
            yield from (each for each in group if isinstance(each, Problem))
        else:
            yield [each for each in group if isinstance(each, Line)]


def _collected(lines: Iterable[Line | Problem]) -> Iterator[list[Line] | Problem]:
    groups: dict[str, list[Line]] = {}
    for each in lines:
        if isinstance(each, Problem):
            yield each
        else:
            groups.setdefault(each.qid, []).append(each)
    yield from groups.values()


def _ranking(domain: str, lines: list[Line]) -> Iterator[RunFileRow]:
    first = lines[0]
    kept: dict[str, float] = {}
    repeated = []
    for each in lines:
        if each.pid in kept:
            # A document named once for each of its chunks has the score of the best of them.
            repeated.append(each.pid)
        kept[each.pid] = max(kept.get(each.pid, each.score), each.score)
    pids, scores = tuple(kept), tuple(kept.values())
    row = RunRow(domain, first.qid, pids, scores, first.tag, first.location)
    yield from _run_rows(row, repeated)
    owner = f"{domain}-{first.qid}"
    if any(b.rank <= a.rank for a, b in pairwise(lines)):
        yield Oddity(RANKS, owner)
    if not first.tag:
        yield Oddity(NO_TAG, owner)
    if any(each.tag != first.tag for each in lines):
        yield Oddity(MORE_TAGS, owner)


def _line(location: Location, line: str) -> Line | Problem:
    columns = _columns(line)
    if columns is None:
        return Problem(location, TWO_LINES if _is_joined(_parts(line)) else SIX_COLUMNS)
    qid, pid, rank, score, tag = columns
    named = (("query id", qid, QID_LIMIT), ("passage id", pid, PID_LIMIT), ("tag", tag, QID_LIMIT))
    for fault in faults_at(location, *named):
        return fault
    if not qid or not pid:
        return Problem(location, "An id cannot be empty.")
    number = float(score)
    if not math.isfinite(number):
        return Problem(location.at("score"), f"A score must be a finite number, not {score[:40]}.")
    return Line(location, qid, pid, int(rank), number, tag)


def _columns(line: str) -> tuple[str, str, str, str, str] | None:
    """Query id, passage id, rank, score, tag.

    Words may follow the tag, as trec_eval allows, but no other line: files joined without a line
    break between them would lose its passage. A passage id may hold blanks, and then the columns
    are counted from the end.
    """
    parts = _parts(line)
    if _is_joined(parts):
        return None
    if len(parts) >= 5 and _are_numbers(parts[3], parts[4]):
        return parts[0], parts[2], parts[3], parts[4], parts[5] if len(parts) > 5 else ""
    if len(parts) > 6 and _are_numbers(parts[-3], parts[-2]):
        pid = line.split(None, 2)[2].rsplit(None, 3)[0]
        return parts[0], pid, parts[-3], parts[-2], parts[-1]
    return None


def _is_joined(parts: list[str]) -> bool:
    """Whether a second rank and score follow the first, or a second Q0 the passage id."""
    if len(parts) <= 6:
        return False
    if _are_numbers(parts[3], parts[4]):
        return any(_are_numbers(*pair) for pair in pairwise(parts[5:]))
    return parts[1] in parts[3:-3]


def _parts(line: str) -> list[str]:
    """Between tabs ids may hold blanks, and only what is no id loses those around it."""
    if line.count("\t") != 5:
        return line.split()
    qid, middle, pid, *rest = line.split("\t")
    return [qid, middle, pid, *map(str.strip, rest)]


def _are_numbers(rank: str, score: str) -> bool:
    return bool(_WHOLE.fullmatch(rank) and _NUMBER.fullmatch(score))


# One JSON object


def _object_of_file(file: DataFile, domain: str, meter: Meter) -> Iterator[RunFileRow]:
    if _holds_records(file, meter.aside()):
        yield from _records_of_file(file, domain, meter)
        return
    try:
        # An object is held as a whole, and grows to several times its size on the way.
        queries = _parsed(content_of(file, meter))
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)
        return
    if not isinstance(queries, _Object):
        message = "One JSON object is needed here: {query id: {passage id: score}}."
        yield Problem(Location(file.name), message)
        return
    tag = run_name(file.path)[1]
    if not tag:
        yield Oddity(NO_TAG, file.name)
    seen: set[str] = set()
    for number, (qid, ranking) in enumerate(queries, start=1):
        here = Location(file.name, number)
        if qid in seen:
            yield Problem(here, f"Query {qid[:80]} stands twice in this object.")
        else:
            seen.add(qid)
            yield from _json_ranking(domain, qid, ranking, tag, here)


def _holds_records(file: DataFile, meter: Meter) -> bool:
    """By its name, or else by its first record: an object of lists has no passage id of its own."""
    if ".jsonl" in file.path.suffixes[-2:] or first_bytes(file)[:1] == b"[":
        return True
    head = first_bytes(file).partition(b"\n")[0]
    try:
        first = json.loads(head)
    except (ValueError, RecursionError):
        return False
    fields = first.items() if isinstance(first, dict) else ()
    return any(
        meter.names.get(name, name) == "docid" and isinstance(value, str | int)
        for name, value in fields
    )


def _records_of_file(file: DataFile, domain: str, meter: Meter) -> Iterator[RunFileRow]:
    """The rows of a query stand anywhere; without scores they are in the order of the file."""
    tag = run_name(file.path)[1]
    if not tag:
        yield Oddity(NO_TAG, file.name)
    lists: dict[str, Pairs] = {}
    where: dict[str, Location] = {}
    for number, each in enumerate(records(file, meter)):
        if isinstance(each, Problem):
            yield each
            continue
        if number >= MAX_SCATTERED:
            yield Problem(each.location, f"More than {MAX_SCATTERED:,} rows; give TREC's columns.")
            return
        qid, pid = each.ident("qid", limit=QID_LIMIT), each.ident("docid", limit=PID_LIMIT)
        ranked = lists.setdefault(qid, [])
        if ranked and (ranked[0][1] is None) == each.given("score"):
            each.wrong("score", "Either all passages of a query have a score, or none has.")
        if each.problems:
            yield from each.problems
        else:
            where.setdefault(qid, each.location)
            ranked.append((pid, each.data.get("score")))
    for qid, ranked in lists.items():
        if ranked:
            given = _Object(ranked) if ranked[0][1] is not None else [pid for pid, _ in ranked]
            yield from _json_ranking(domain, qid, given, tag, where[qid])


def _json_ranking(
    domain: str, qid: str, ranking: Any, tag: str, location: Location
) -> Iterator[RunFileRow]:
    if fault := text_fault(qid, QID_LIMIT) if qid else "An id cannot be empty.":
        yield Problem(location.at("query id"), fault)
        return
    if not isinstance(ranking, list):
        yield Problem(location, f"Scores or a list of passage ids are needed for query {qid[:80]}.")
        return
    is_scored = isinstance(ranking, _Object)
    given: Pairs = ranking if is_scored else [(each, None) for each in ranking]
    faults = ((pid, _fault(pid, value, is_scored=is_scored)) for pid, value in given)
    problems = [
        Problem(location.at(f"{qid}: {str(pid)[:80]}"), fault) for pid, fault in faults if fault
    ]
    if problems:
        yield from problems
        return
    kept: dict[str, float] = {}
    repeated = []
    for pid, value in given:
        score = _score(value) or 0.0
        if pid in kept:
            repeated.append(pid)
        kept[pid] = max(kept.get(pid, score), score)
    scores = tuple(kept.values()) if is_scored else None
    yield from _run_rows(RunRow(domain, qid, tuple(kept), scores, tag, location), repeated)
    if any(isinstance(value, _Object) and dict(value).get("text") for _, value in given):
        yield Oddity(TEXTS, f"{domain}-{qid}")


def _fault(pid: Any, value: Any, *, is_scored: bool) -> str:
    if not isinstance(pid, str) or not pid:
        return "A passage id must be a text that is not empty."
    if fault := text_fault(pid, PID_LIMIT):
        return fault
    if not is_scored:
        return ""
    score = _score(value)
    if score is None:
        return "A number is needed here, or an object with a score."
    return "" if math.isfinite(score) else f"A score must be a finite number, not {score}."


def _score(value: Any) -> float | None:
    if isinstance(value, _Object):
        value = dict(value).get("score")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _parsed(content: bytes) -> Any:
    """The value with objects as _Object; NaN and Infinity come out as numbers, to be named."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        start = fault.start - content.rfind(b"\n", 0, fault.start)
        raise Unreadable(NOT_UTF8.format(start), line) from fault
    try:
        return json.loads(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        message = f"This is not valid JSON ({error.msg}, column {error.colno})."
        raise Unreadable(message, error.lineno) from error
    except RecursionError as error:
        raise Unreadable("This JSON is nested too deeply.") from error
    except ValueError as error:  # a number of more digits than int() takes
        raise Unreadable("A number in this file is too long.") from error
