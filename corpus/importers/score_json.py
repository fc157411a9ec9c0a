"""Runs as one JSON object per file (docs/protocol.md 1.2).

`{qid: {passage id: score}}`, `{qid: [passage id, ...]}` (already ranked), or BRIDGE's
`{qid: {passage id: {"score": ..., "text": ...}}}`.
"""

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, text_fault
from corpus.importers.files import DataFile, Meter
from corpus.importers.listing import missing
from corpus.importers.reading import Unreadable, check_growth
from corpus.importers.rows import Oddity, Place, Problem, RunFileRow, RunRow
from corpus.importers.streams import NOT_UTF8
from corpus.importers.trec_run import NO_TAG, oddities_of, run_files, run_name

# An object is held as a whole, and grows to several times its size on the way.
SIZE_LIMIT = 256 * 1024 * 1024
TEXTS = "passage texts in a run, not read"
# Objects are lists of pairs here, so that a name that comes twice is seen.
Pairs: TypeAlias = list[tuple[str, Any]]


class _Object(list):  # type: ignore[type-arg]
    """The pairs of a JSON object, told apart from a JSON list."""


def read(
    path: Path, *, qrels: Path | None = None, meter: Meter | None = None, domain: str = ""
) -> Iterator[RunFileRow]:
    """One RunRow per query of each file; its domain is the file's stem unless it is given."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "A run brings no gold and takes no qrels.")
        return
    files = run_files(path, json=True)
    if not files:
        yield missing(path, "a file of scores (.json, also with .gz)")
        return
    meter.expect(files)
    for file in files:
        yield from _file(file, domain or file.domain, meter)
        meter.end(file)


def _file(file: DataFile, domain: str, meter: Meter) -> Iterator[RunFileRow]:
    place = Place(file.name)
    try:
        queries = _parsed(content_of(file, meter))
    except Unreadable as fault:
        yield Problem(Place(file.name, fault.line), fault.message)
        return
    if not isinstance(queries, _Object):
        yield Problem(place, "One JSON object is needed here: {query id: {passage id: score}}.")
        return
    tag = run_name(file.path)[1]
    if not tag:
        yield Oddity(NO_TAG, file.name)
    seen: set[str] = set()
    for number, (qid, ranking) in enumerate(queries, start=1):
        here = Place(file.name, number)
        if qid in seen:
            yield Problem(here, f"Query {qid[:80]} stands twice in this object.")
        else:
            seen.add(qid)
            yield from _ranking(domain, qid, ranking, tag, here)


def _ranking(domain: str, qid: str, ranking: Any, tag: str, place: Place) -> Iterator[RunFileRow]:
    if fault := text_fault(qid, QID_LIMIT) if qid else "An id cannot be empty.":
        yield Problem(place.at("query id"), fault)
        return
    given: Pairs = ranking if isinstance(ranking, _Object) else _unscored(ranking)
    if not isinstance(ranking, list):
        yield Problem(place, f"Scores or a list of passage ids are needed for query {qid[:80]}.")
        return
    is_scored = isinstance(ranking, _Object)
    kept: dict[str, float | None] = {}
    repeated: list[str] = []
    problems: list[Problem] = []
    for pid, value in given:
        if fault := _fault(pid, value, is_scored=is_scored):
            problems.append(Problem(place.at(f"{qid}: {str(pid)[:80]}"), fault))
        elif pid in kept:
            # A document named once for each of its chunks has the score of the best of them.
            kept[pid] = max((s for s in (kept[pid], _score(value)) if s is not None), default=None)
            repeated.append(pid)
        else:
            kept[pid] = _score(value)
    if problems:
        yield from problems
        return
    scores = [each for each in kept.values() if each is not None]
    yield RunRow(domain, qid, tuple(kept), tuple(scores) if is_scored else None, tag, place)
    yield from oddities_of(f"{domain}-{qid}", list(kept), scores if is_scored else None, repeated)
    if any(isinstance(value, _Object) and dict(value).get("text") for _, value in given):
        yield Oddity(TEXTS, f"{domain}-{qid}")


def _unscored(ranking: Any) -> Pairs:
    return [(each, None) for each in ranking] if isinstance(ranking, list) else []


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


def content_of(file: DataFile, meter: Meter) -> bytes:
    """The whole file, unzipped; raises Unreadable where it is broken or larger than SIZE_LIMIT."""
    try:
        with file.path.open("rb") as raw:
            is_gz = file.path.suffix.lower() == ".gz"
            stream: IO[bytes] = gzip.GzipFile(fileobj=raw) if is_gz else raw  # type: ignore[assignment]
            content = stream.read(SIZE_LIMIT + 1)
            check_growth(stream, raw, meter, 0)
    except EOFError as error:
        raise Unreadable("The gzip file ends too early; fetch it again.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable("This is not a readable gzip file; fetch it again.") from error
    if len(content) > SIZE_LIMIT:
        limit = SIZE_LIMIT // 2**20
        raise Unreadable(f"The object is larger than {limit} MB; give the run in TREC's format.")
    return content


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
