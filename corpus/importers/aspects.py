"""Aspects of Bright-Pro and their invariants (docs/protocol.md 1.1, 3.2, 9)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from corpus.importers.fields import Record
from corpus.importers.files import DataFile, Meter
from corpus.importers.gold import distinct_ids
from corpus.importers.reading import records
from corpus.importers.rows import AspectRow, Key, Oddity, Place, Problem, Row

# The gold ids of every query that was read, with the place that named them.
Gold: TypeAlias = dict[Key, tuple[frozenset[str], Place]]

_ID = re.compile(r"-(?:a|aspect-)(\d{1,4})$", re.ASCII)
_TOP_WEIGHT = 5


def read(files: Sequence[DataFile], gold: Gold, meter: Meter) -> Iterator[Row]:
    """Aspects by query and number; a query that has aspects must satisfy every invariant."""
    found: list[AspectRow] = []
    complete = True
    for file in files:
        for record in records(file, meter):
            rows = [record] if isinstance(record, Problem) else list(read_one(file.domain, record))
            complete = complete and not any(isinstance(each, Problem) for each in rows)
            found += (each for each in rows if isinstance(each, AspectRow))
            yield from (each for each in rows if not isinstance(each, AspectRow))
    scale = scale_of(found)
    for key, rows_of_query in _by_query(found).items():
        yield from _faults(key, rows_of_query, gold, complete=complete)
        for row in rows_of_query:
            yield replace(row, scale=scale)
            yield Oddity(f"weights read on the scale {scale}", f"{row.domain}-{row.qid}-a{row.k}")


def _by_query(rows: Sequence[AspectRow]) -> dict[Key, list[AspectRow]]:
    """Aspects of each query, by number and not by spelling (a2 before a10)."""
    groups: dict[Key, list[AspectRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.k):
        groups[row.domain, row.qid].append(row)
    return groups


def scale_of(rows: Sequence[AspectRow]) -> str:
    """likert3 if no weight of the whole folder is above 3, as no row says it itself."""
    return "likert3" if rows and all(row.weight <= 3 for row in rows) else "likert5"


def read_one(task: str, record: Record) -> Iterator[Row]:
    """The aspect of one record, by itself: what it must satisfy beside others is not looked at."""
    written = record.ident("id")
    qid, k = _split_id(task, written, record)
    docs, repeats = distinct_ids(record, "supporting_docs", written)
    weight = record.whole("weight")
    content = record.text("content")
    if not record.problems and not 1 <= weight <= _TOP_WEIGHT:
        record.wrong("weight", f"A weight from 1 to {_TOP_WEIGHT} is needed here, not {weight}.")
    if record.problems:
        yield from record.problems
        return
    yield AspectRow(task, qid, k, content, weight, docs, record.place)
    yield from (Oddity("supporting passages repeated in an aspect", r.example) for r in repeats)
    if not docs:
        yield Oddity("aspects without a supporting passage", written)


def _split_id(task: str, written: str, record: Record) -> tuple[str, int]:
    """`{task}-{qid}-a{k}`, or the older `{task}-{qid}-aspect-{k}`, as (qid, k)."""
    match = _ID.search(written)
    stem = written[: match.start()] if match else ""
    qid = stem.removeprefix(f"{task}-")
    if match is None or not qid or qid == stem:
        record.wrong("id", f"An aspect id looks like {task}-12-a1, not {written[:80]!r}.")
        return "", 0
    return qid, int(match.group(1))


def _faults(
    key: Key, rows: Sequence[AspectRow], gold: Gold, *, complete: bool
) -> Iterator[Problem]:
    if key not in gold:
        for row in rows:
            yield Problem(row.place.at("id"), f"There is no query {key[1]} in {key[0]}.")
        return
    ids, place = gold[key]
    yield from _repeated_numbers(rows)
    aspect_of: dict[str, int] = {}
    for row in rows:
        where = row.place.at("supporting_docs")
        for pid in row.supporting_docs:
            if aspect_of.setdefault(pid, row.k) != row.k:
                yield Problem(where, f"{pid} already supports aspect {aspect_of[pid]}.")
            elif pid not in ids:
                yield Problem(where, f"{pid} is not among the gold ids of the query.")
    # An aspect that could not be read may be the one that is missed here.
    for pid in sorted(ids - aspect_of.keys()) if complete else ():
        yield Problem(place, f"{pid} is gold but supports no aspect.")


def _repeated_numbers(rows: Sequence[AspectRow]) -> Iterator[Problem]:
    for before, row in pairwise(rows):
        if before.k == row.k:
            yield Problem(row.place.at("id"), f"The query has two aspects numbered {row.k}.")
