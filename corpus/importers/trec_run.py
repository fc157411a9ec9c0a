"""TREC runs: query id, Q0, passage id, rank, score, tag (docs/protocol.md 1.2 and 1.5).

The order of the file is kept; ranks are looked at but not believed. A file whose queries stand
together is read query by query; any other is held in memory, up to a bound.

Files of what systems retrieved: which there are, and of which domain and system each is."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, text_fault
from corpus.importers.files import DataFile, Meter
from corpus.importers.listing import as_file, files_under, missing, stem_of
from corpus.importers.rows import Oddity, Place, Problem, RunFileRow, RunRow
from corpus.importers.streams import column_lines

_TREC = re.compile(r"\.(?:run|trec|txt|res|results|test|trunc)(?:\.gz)?$", re.IGNORECASE)
_JSON = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)
# outputs/{task}_{model}_long_{False}/score.json
_OUTPUT = re.compile(r"(?P<domain>.+)_(?P<tag>[^_]+)_long_(?:True|False)")
# results/{retriever}/{subset}_retrieved_corpus.json
_RETRIEVED = "_retrieved_corpus"

DUPLICATE = "passages ranked twice for a query, the best kept"
UNSORTED = "rankings that are not in the order of their scores"
NO_TAG = "runs without a name"


def run_files(path: Path, *, json: bool) -> list[DataFile]:
    """The run files of a folder, or the file itself whatever its name; the domain is the stem."""
    ending = _JSON if json else _TREC
    paths = [each for each in files_under(path) if each == path or ending.search(each.name)]
    return [as_file(each, path, run_name(each)[0]) for each in paths]


def run_name(path: Path) -> tuple[str, str]:
    """Domain and system that a path tells; the system is "" where it tells none."""
    stem = stem_of(path)
    if stem.endswith(_RETRIEVED):
        return stem.removesuffix(_RETRIEVED), path.parent.name
    if stem == "score":
        match = _OUTPUT.fullmatch(path.parent.name)
        return (match["domain"], match["tag"]) if match else (path.parent.name, "")
    return stem, ""


def oddities_of(
    owner: str, pids: list[str], scores: list[float] | None, repeated: list[str]
) -> list[Oddity]:
    """What is unusual about one ranking (docs/protocol.md 1.5 rules 1 and 4)."""
    found = [Oddity(DUPLICATE, f"{owner}: {pid}") for pid in repeated]
    if scores is not None and any(a < b for a, b in pairwise(scores)):
        found.append(Oddity(UNSORTED, owner))
    return found


# Lines of a file whose queries do not stand together.
MOST_SCATTERED = 5_000_000
# Queries of a file, and lines of a query.
MOST_TOGETHER = 1_000_000
SCATTERED = "runs whose queries do not stand together"
RANKS = "rankings whose ranks do not count up with the lines"
MORE_TAGS = "runs under more than one name, the first kept"
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.I
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a run."""

    place: Place = field(compare=False)
    qid: str
    pid: str
    rank: int
    score: float
    tag: str


def read(
    path: Path, *, qrels: Path | None = None, meter: Meter | None = None, domain: str = ""
) -> Iterator[RunFileRow]:
    """One RunRow per query of each file; its domain is the file's stem unless it is given."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "A run brings no gold and takes no qrels.")
        return
    files = run_files(path, json=False)
    if not files:
        yield missing(path, "a run file (.run, .trec or .txt, also with .gz)")
        return
    meter.expect(files)
    for file in files:
        yield from _file(file, domain or file.domain, meter)
        meter.end(file)


def _file(file: DataFile, domain: str, meter: Meter) -> Iterator[RunFileRow]:
    is_scattered, fault = _survey(file, meter.aside())
    if fault:
        yield Problem(Place(file.name), fault)
        return
    if is_scattered:
        yield Oddity(SCATTERED, file.name)
    groups = _collected if is_scattered else _in_order
    for group in groups(_lines(file, meter)):
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
        if together > MOST_TOGETHER or len(seen) > MOST_TOGETHER:
            return is_scattered, f"More than {MOST_TOGETHER:,} queries, or lines of one query."
        if is_scattered and count > MOST_SCATTERED:
            return True, f"Queries stand apart over {MOST_SCATTERED:,} lines; sort them by query."
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
    repeated = [each.pid for each in lines if _seen(kept, each)]
    pids, scores = list(kept), list(kept.values())
    owner = f"{domain}-{first.qid}"
    yield RunRow(domain, first.qid, tuple(pids), tuple(scores), first.tag, first.place)
    yield from oddities_of(owner, pids, scores, repeated)
    if any(b.rank <= a.rank for a, b in pairwise(lines)):
        yield Oddity(RANKS, owner)
    if not first.tag:
        yield Oddity(NO_TAG, owner)
    if any(each.tag != first.tag for each in lines):
        yield Oddity(MORE_TAGS, owner)


def _seen(kept: dict[str, float], line: Line) -> bool:
    if line.pid in kept:
        # A document named once for each of its chunks has the score of the best of them.
        kept[line.pid] = max(kept[line.pid], line.score)
        return True
    kept[line.pid] = line.score
    return False


def _lines(file: DataFile, meter: Meter) -> Iterator[Line | Problem]:
    for each in column_lines(file, meter):
        if isinstance(each, Problem):
            yield each
        elif (columns := _columns(each[1])) is None:
            message = "Six columns are needed: query id, Q0, passage id, rank, score, tag."
            yield Problem(each[0], message)
        else:
            yield _line(each[0], *columns)


def _columns(line: str) -> tuple[str, str, str, str, str] | None:
    """Query id, passage id, rank, score, tag.

    Anything may follow the tag, as trec_eval allows; a passage id may hold blanks, and then the
    columns are counted from the end.
    """
    parts = _parts(line)
    if len(parts) >= 5 and _are_numbers(parts[3], parts[4]):
        return parts[0], parts[2], parts[3], parts[4], parts[5] if len(parts) > 5 else ""
    if len(parts) > 6 and _are_numbers(parts[-3], parts[-2]):
        pid = line.split(None, 2)[2].rsplit(None, 3)[0]
        return parts[0], pid, parts[-3], parts[-2], parts[-1]
    return None


def _parts(line: str) -> list[str]:
    """Between tabs ids may hold blanks, and only what is no id loses those around it."""
    if line.count("\t") != 5:
        return line.split()
    qid, middle, pid, *rest = line.split("\t")
    return [qid, middle, pid, *map(str.strip, rest)]


def _are_numbers(rank: str, score: str) -> bool:
    return bool(_WHOLE.fullmatch(rank) and _NUMBER.fullmatch(score))


def _line(place: Place, qid: str, pid: str, rank: str, score: str, tag: str) -> Line | Problem:
    named = (("query id", qid, QID_LIMIT), ("passage id", pid, PID_LIMIT), ("tag", tag, QID_LIMIT))
    for name, value, limit in named:
        if fault := text_fault(value, limit):
            return Problem(place.at(name), fault)
    if not qid or not pid:
        return Problem(place, "An id cannot be empty.")
    number = float(score)
    if not math.isfinite(number):
        return Problem(place.at("score"), f"A score must be a finite number, not {score[:40]}.")
    return Line(place, qid, pid, int(rank), number, tag)
