"""All the files of one computation, read and held against each other."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from corpus.importers.bright import guessed_scale, on_scale, read_aspect
from corpus.importers.fields import NOTHING, QID_LIMIT, Record, excluded_ids
from corpus.importers.files import DataFile, Meter
from corpus.importers.formats import FORMATS
from corpus.importers.qrels import read_judgments, read_pairs, read_qrels
from corpus.importers.reading import Unreadable, column_lines, content_of, first_bytes, records
from corpus.importers.records import checked
from corpus.importers.rows import AspectRow, JudgmentRow, Problem, QueryRow
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect, AspectsOf, Gold, label_faults
from evaluation.metrics.profiles import Profile
from evaluation.metrics.reading.rows import (
    JSON,
    TEXT,
    Names,
    data_file,
    good_rows,
    kind_of,
    new_meter,
    parsed,
    string_count,
)
from evaluation.metrics.reading.runs import RunFile, read_run

REPEATED = "judgments repeated"


@dataclass
class GoldFile:
    """Labels by query and passage, with what else a file may say.

    `subtopics` maps query and subtopic to the passages that are relevant to it, `excluded` a
    query to the ids to leave out; both are empty where the file does not speak of them.
    """

    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    subtopics: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    excluded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)


def read_gold(path: Path, names: Names | None = None) -> GoldFile:
    """The gold of a file; raises MetricFault naming file, line and field of every fault."""
    file = data_file(path)
    kind = kind_of(file)
    if kind == JSON and (found := _labels_object(file)) is not None:
        return found
    meter = new_meter(names)
    if kind == TEXT:
        rows = _text_rows(file, meter)
    elif "docid" in (fields := _first_fields(file, meter.aside())):
        rows = read_judgments(file, meter)
    else:
        rows = FORMATS["bridge" if "q_id" in fields else "bright"].read(file.path, meter=meter)
    gold = GoldFile()
    _fill(gold, good_rows(_reported(file, rows), gold.notes))
    if not gold.labels:
        raise MetricFault([f"{file.name}: There is no judgment in this file."])
    return gold


def _reported(file: DataFile, rows: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from rows
    except Unreadable as fault:
        where = f"{file.name}:{fault.line}" if fault.line else file.name
        raise MetricFault([f"{where}: {fault.message}"]) from None


def _text_rows(file: DataFile, meter: Meter) -> Iterable[Any]:
    """BEIR's three columns by tabs, else TREC's four."""
    lines = first_bytes(file).splitlines()
    first = next((each for each in lines if each.strip() and not each.startswith(b"#")), b"")
    if first.count(b"\t") == 2:
        return read_pairs(file, meter, gold=file.name)
    return read_qrels(file, meter)


def _first_fields(file: DataFile, meter: Meter) -> Collection[str]:
    for record in records(file, meter):
        return getattr(record, "data", {}).keys()
    return ()


def _fill(gold: GoldFile, rows: Iterable[Any]) -> None:
    places: dict[str, str] = {}
    faults: list[str] = []
    for row in rows:
        if isinstance(row, QueryRow):
            if row.qid in places:
                faults.append(
                    f"{row.location}: Query {row.qid} stands at {places[row.qid]} before."
                )
            places[row.qid] = str(row.location)
            gold.labels.setdefault(row.qid, {})
            if row.excluded_ids:
                gold.excluded[row.qid] = row.excluded_ids
        elif isinstance(row, JudgmentRow):
            faults += _add(gold, row)
    if faults:
        raise MetricFault.of(faults)


def _add(gold: GoldFile, row: JudgmentRow) -> Iterator[str]:
    labels = gold.labels.setdefault(row.qid, {})
    before = labels.setdefault(row.pid, row.label)
    if before != row.label:
        yield f"{row.location}: {row.pid} has the label {before} for query {row.qid} before."
    for name, label in (row.subtopics or {}).items():
        passages = gold.subtopics.setdefault(row.qid, {}).setdefault(name, [])
        if label > 0:
            passages.append(row.pid)


def _labels_object(file: DataFile) -> GoldFile | None:
    """`{qid: {passage id: label}}`, or None where the file is something else."""
    try:
        content = content_of(file, new_meter())
        labels = parsed(content)
    except (Unreadable, orjson.JSONDecodeError):
        return None
    if not isinstance(labels, dict) or not all(isinstance(e, dict) for e in labels.values()):
        return None
    if not labels or string_count(content) != len(labels) + sum(map(len, labels.values())):
        what = "labels by query and passage, each named once: {qid: {passage id: label}}"
        raise MetricFault([f"{file.name}: This object should hold {what}."])
    if faults := list(label_faults(labels)):
        raise MetricFault.of(f"{file.name}: {fault}" for fault in faults)
    return GoldFile(labels=labels)


_NUMBER = re.compile(r"-(?:a|aspect-)\d{1,4}$", re.ASCII)
Named = dict[str, dict[str, Aspect]]


def read_aspects(
    path: Path, qids: Collection[str], *, complete: bool = True, names: Names | None = None
) -> Named:
    """{qid: {name: Aspect}} of a file.

    A passage that supports two aspects of a query is a fault; without `complete` the last one
    that names it counts, as in the reference (docs/protocol.md 9). Subtopics may share passages.
    Raises MetricFault naming file, line and field.
    """
    file = data_file(path)
    if kind_of(file) == TEXT:
        return of_subtopics(read_gold(path, names))
    rows = list(good_rows(_rows(file, qids, new_meter(names)), Counter()))
    if not rows:
        raise MetricFault([f"{file.name}: There is no aspect in this file."])
    guess = guessed_scale(rows)
    placed = [on_scale(row, guess) for row in rows]
    if off := [str(each) for each in placed if isinstance(each, Problem)]:
        raise MetricFault.of(off)
    found = [each for each in placed if isinstance(each, AspectRow)]
    return _named(found, complete=complete)


def of_subtopics(gold: GoldFile) -> Named:
    """Each subtopic as an aspect of weight 1; a file of one subtopic counts as one."""
    if gold.subtopics:
        return {
            qid: {name: Aspect(1.0, passages) for name, passages in named.items()}
            for qid, named in gold.subtopics.items()
        }
    return {
        qid: {"1": Aspect(1.0, [pid for pid, label in labels.items() if label > 0])}
        for qid, labels in gold.labels.items()
    }


def _rows(file: DataFile, qids: Collection[str], meter: Meter) -> Iterator[Any]:
    found = list(records(file, meter))
    task = _task([each for each in found if isinstance(each, Record)], file.domain, qids)
    for record in found:
        yield from checked(task, record, read_aspect)


def _task(found: Iterable[Record], domain: str, qids: Collection[str]) -> str:
    """What stands before the query id in an aspect id, as the file's name need not say it."""
    for record in found:
        stem = _NUMBER.sub("", str(record.data.get("id")))
        if stem.startswith(f"{domain}-"):
            return domain
        fitting = [qid for qid in qids if stem.endswith(f"-{qid}")]
        if fitting:
            return stem[: -len(max(fitting, key=len)) - 1]
    return domain


def _named(rows: Sequence[AspectRow], *, complete: bool) -> Named:
    supported: dict[tuple[str, str], str] = {}
    found: Named = {}
    faults: list[str] = []
    for row in sorted(rows, key=lambda row: row.k):
        name = f"a{row.k}"
        if name in found.setdefault(row.qid, {}):
            faults.append(f"{row.location}: The query {row.qid} has two aspects numbered {row.k}.")
        found[row.qid][name] = Aspect(row.weight, [])
        for pid in row.supporting_docs:
            if (before := supported.get((row.qid, pid))) is not None and complete:
                where = row.location.at("supporting_docs")
                faults.append(f"{where}: {pid} already supports aspect {before}.")
            supported[row.qid, pid] = name
    if faults:
        raise MetricFault.of(faults)
    passages: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (qid, pid), name in supported.items():
        passages[qid, name].append(pid)
    for row in rows:  # which several may list
        passages[row.qid, f"a{row.k}"] += row.subtopic_docs
    return {
        qid: {name: replace(each, passages=passages[qid, name]) for name, each in named.items()}
        for qid, named in found.items()
    }


Excluded = dict[str, tuple[str, ...]]


def read_excluded(path: Path, names: Names | None = None) -> Excluded:
    """{qid: ids} of one JSON object, of rows with id and excluded_ids, or of two columns.

    Raises MetricFault naming file, line and field.
    """
    file = data_file(path)
    kind = kind_of(file)
    if kind == JSON and (found := _object(file)) is not None:
        return found
    rows = _columns(file) if kind == TEXT else _records(file, new_meter(names))
    excluded: Excluded = {}
    for qid, ids in good_rows(rows, Counter()):
        excluded[qid] = (*excluded.get(qid, ()), *ids)
    return {qid: () if NOTHING in ids else ids for qid, ids in excluded.items()}


def _columns(file: DataFile) -> Iterator[Any]:
    for each in column_lines(file, new_meter()):
        if isinstance(each, Problem):
            yield each
            continue
        location, line = each
        columns = line.split(None, 1)
        if len(columns) == 2:
            yield columns[0], (columns[1].strip(),)
        else:
            yield Problem(location, "Two columns are needed: query id, passage id.")


def _records(file: DataFile, meter: Meter) -> Iterator[Any]:
    for record in records(file, meter):
        if isinstance(record, Problem):
            yield record
            continue
        qid = record.ident("q_id" if record.given("q_id") else "id", limit=QID_LIMIT)
        ids, _ = excluded_ids(record, qid)
        yield from record.problems
        yield qid, ids or ()


def _object(file: DataFile) -> Excluded | None:
    """`{qid: [passage id, ...]}`, or None where the file holds rows."""
    try:
        value = parsed(content_of(file, new_meter()))
    except (Unreadable, orjson.JSONDecodeError):
        return None
    if not isinstance(value, dict) or "id" in value or "q_id" in value:
        return None
    for qid, ids in value.items():
        if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
            what = "A list of passage ids is needed here: {query id: [passage id, ...]}."
            raise MetricFault([f"{file.name} {qid[:80]}: {what}"])
    return {qid: () if NOTHING in ids else tuple(ids) for qid, ids in value.items()}


Inputs: TypeAlias = tuple[RunFile, Gold, Mapping[str, int]]
"""A run, its gold, and what was odd in the files, counted by kind."""


def read_inputs(
    run: Path,
    qrels: Path,
    aspects: Path | None = None,
    excluded: Path | None = None,
    base: Path | None = None,
    *,
    profile: Profile,
    names: Names | None = None,
) -> Inputs:
    """Read all files; raises MetricFault that names every fault of the first that has any."""
    gold, notes = read_joined(qrels, aspects, excluded, base, profile=profile, names=names)
    found = read_run(run, names)
    return found, gold, Counter(found.notes) + Counter(notes)


def read_joined(
    qrels: Path,
    aspects: Path | None = None,
    excluded: Path | None = None,
    base: Path | None = None,
    *,
    profile: Profile,
    names: Names | None = None,
) -> tuple[Gold, Mapping[str, int]]:
    """The gold of one domain with what else its files say, and what was odd in them, by kind.

    `names` are ours for fields that the files' records call otherwise. Raises MetricFault.
    """
    gold = read_gold(qrels, names)
    left_out = dict(gold.excluded) if excluded is None else read_excluded(excluded, names)
    named: AspectsOf | None = of_subtopics(gold) if gold.subtopics else None
    if aspects is not None:
        complete = profile.complete
        named = read_aspects(aspects, gold.labels.keys(), complete=complete, names=names)
    original = None if base is None else read_gold(base, names).labels
    try:
        joined = Gold.of(
            gold.labels,
            aspects=named,
            excluded=left_out,
            base=original,
            complete=profile.complete,
        )
    except MetricFault as fault:
        # Each file is sound by itself: it is between them that something is wrong.
        given = [each.name for each in (qrels, aspects, excluded) if each]
        raise MetricFault([f"{', '.join(given)}: {each}" for each in fault.messages]) from None
    return joined, gold.notes
