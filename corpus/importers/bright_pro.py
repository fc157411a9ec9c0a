"""Bright-Pro: `{examples,aspects,documents}/{task}.{json,jsonl,parquet}`.

docs/protocol.md 1.2, 3.2. Ours beside it: `pages/` (the pages that passages were cut from),
`pairs/` (pairs to debate), and the optional query fields answers, community_answers and
excluded_ids.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.importers import aspects
from corpus.importers.blocks import Layout
from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, TITLE_LIMIT, URL_LIMIT, Record
from corpus.importers.files import DataFile, Meter, data_files
from corpus.importers.gold import check_excluded, distinct_ids, excluded_ids
from corpus.importers.passages import passage, read_passages
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import (
    DocumentRow,
    JudgmentRow,
    PairRow,
    Place,
    Problem,
    QueryRow,
    Row,
)

FOLDERS = ("examples", "aspects", "pages", "documents", "pairs")
_PASSAGE = Layout(ids=("id",), texts=("content",), source_url="source_url", keeps_others=False)
_EXAMPLE = {
    "id",
    "query",
    "gold_ids",
    "gold_ids_long",
    "excluded_ids",
    "answers",
    "community_answers",
    "gold_answer",
    "reasoning",
    "reference_answer",
}
_ORDINAL = re.compile(r"_\d+(\.[^./]+)?$")


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a Bright-Pro folder; invariants of docs/protocol.md 3.2 are checked on the way."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "This format's gold is in its rows; it takes no qrels.")
        return
    parts = {name: data_files(path / name, inside=f"{name}/") for name in FOLDERS}
    if not parts["examples"] and not parts["documents"]:
        yield nothing_here(path, "a folder with examples/, aspects/ and documents/")
        return
    meter.expect(file for files in parts.values() for file in files)
    gold: aspects.Gold = {}
    for file in parts["examples"]:
        for record in records(file, meter):
            yield from _checked(record, _example(file.domain, record, gold))
    yield from aspects.read(parts["aspects"], gold, meter)
    yield from _texts(parts, meter)
    for file in parts["pairs"]:
        for record in records(file, meter):
            yield from _checked(record, _pair(file.domain, record))


def _checked(record: Record | Problem, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of a record that has no problem, or else its problems."""
    if isinstance(record, Problem):
        yield record
    else:
        found = list(rows)
        yield from record.problems or found


def _example(task: str, record: Record | Problem, gold: aspects.Gold) -> Iterator[Row]:
    if isinstance(record, Problem):
        return
    qid = record.ident("id", limit=QID_LIMIT)
    owner = f"{task}-{qid}"
    ids, repeats = distinct_ids(record, "gold_ids", owner)
    banned, notes = excluded_ids(record, owner)
    check_excluded(record, banned, set(ids))
    extra, dropped = other_fields(record, _EXAMPLE, owner)
    place = record.place.at("gold_ids")
    gold[task, qid] = (frozenset(ids), place)
    yield QueryRow(
        domain=task,
        qid=qid,
        text=record.text("query"),
        place=record.place.at("query"),
        answers=record.maybe_texts("answers"),
        community_answers=_community(record),
        gold_answer=record.maybe_text("gold_answer"),
        reasoning=record.maybe_text("reasoning"),
        reference_answer=record.maybe_text("reference_answer"),
        gold_ids_long=record.maybe_texts("gold_ids_long"),
        excluded_ids=banned,
        extra=extra,
    )
    yield from [*repeats, *notes, *dropped]
    yield from (JudgmentRow(task, qid, pid, 1, place) for pid in ids)


def _community(record: Record) -> tuple[dict[str, Any], ...] | None:
    if not record.given("community_answers"):
        return None
    return tuple(
        {
            "text": each.text("text"),
            "url": each.maybe_text("url", limit=URL_LIMIT) or "",
            "score": each.whole("score") if each.given("score") else 0,
            "accepted": each.flag("accepted") if each.given("accepted") else False,
        }
        for each in record.items("community_answers")
    )


def _texts(parts: dict[str, list[DataFile]], meter: Meter) -> Iterator[Row]:
    """Pages first, so that passages find the page they are cut from."""
    paged = {file.domain for file in parts["pages"]}
    for file in parts["pages"]:
        for record in records(file, meter):
            yield from _checked(record, _page(file.domain, record))
    for file in parts["documents"]:
        if file.domain not in paged:
            yield from read_passages(file, meter, _PASSAGE)
            continue
        for record in records(file, meter):
            yield from paged_passage(file.domain, record, _PASSAGE)


def _page(task: str, record: Record | Problem) -> Iterator[Row]:
    if isinstance(record, Record):
        yield DocumentRow(
            domain=task,
            doc_id=record.ident("id"),
            text=record.text("content"),
            place=record.place.at("content"),
            title=record.maybe_text("title", limit=TITLE_LIMIT),
            source_url=record.maybe_text("source_url", limit=URL_LIMIT),
        )


def paged_passage(domain: str, record: Record | Problem, layout: Layout) -> Iterator[Row]:
    """A passage of a domain whose pages are given, with the page that its id names."""
    pid = record.data.get(layout.ids[0]) if isinstance(record, Record) else None
    page_id = page_of(pid) if isinstance(pid, str) else ""
    yield from passage(domain, record, layout, page_id=page_id)


def page_of(pid: str) -> str:
    """Id of the page of a BRIGHT passage id: `{folder}/{page}_{n}.txt` without `_{n}`, or ""."""
    return _ORDINAL.sub(r"\1", pid) if _ORDINAL.search(pid) else ""


def _pair(task: str, record: Record | Problem) -> Iterator[Row]:
    if isinstance(record, Record):
        qid = record.ident("query_id", limit=QID_LIMIT)
        yield PairRow(task, qid, record.ident("doc_id"), record.place)
