"""Checking a release's folder against itself: files, labels, gold, citations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from evaluation.exporters.checksums import SUMS, file_sum
from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import Label
from evaluation.exporters.trec import VIEWS
from evaluation.verification.answers import check_answers, check_prompts
from evaluation.verification.carried import derive_carried
from evaluation.verification.courses import Courses
from evaluation.verification.faults import Fails
from evaluation.verification.rules import derive

Pair = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """One row that does not hold: where it stands, and why."""

    file: str
    why: str
    query: str = ""
    passage: str = ""

    def __str__(self) -> str:
        names = [f"query {self.query}"] if self.query else []
        names += [f"passage {self.passage}"] if self.passage else []
        return f"{self.file}: {', '.join(names)}{': ' if names else ''}{self.why}"


@dataclass
class Report:
    """What was checked and what did not hold; `unverified` counts labels whose
    evidence is not all there."""

    files: int = 0
    labels: int = 0
    derived: int = 0
    unverified: int = 0
    differences: list[Difference] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "files": self.files,
            "labels": self.labels,
            "derived": self.derived,
            "unverified": self.unverified,
            "differences": [vars(each) for each in self.differences],
        }


def verify(folder: Path) -> Report:
    """Derive every label of the folder anew; raises OSError and ValueError for no release."""
    report = Report()
    report.differences += _files(folder, report)
    splits = sorted(path.stem for path in (folder / "provenance").glob("*.jsonl"))
    if not splits:
        raise ValueError(f"{folder} holds no provenance: it is no release.")
    for split in splits:
        report.differences += _split(folder, split, report)
        report.differences += [Difference(*each) for each in check_answers(folder, split)]
    report.differences += [Difference(*each) for each in check_prompts(folder)]
    return report


def _files(folder: Path, report: Report) -> Iterator[Difference]:
    for line in (folder / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        path = folder / name
        report.files += 1
        if ".." in Path(name).parts or not path.is_file():
            yield Difference(name, "the file is not there")
        elif file_sum(path) != digest:
            yield Difference(name, "its checksum is another")


def _split(folder: Path, split: str, report: Report) -> Iterator[Difference]:
    aspects, decomposed = _supporting(folder, split)
    courses = Courses(folder)
    evidence = f"evidence/{split}.jsonl"
    derived: dict[Pair, int] = {}
    recorded: dict[Pair, tuple[int, str]] = {}
    for row in _rows(folder / evidence):
        pair = (row["query_id"], row["passage_id"])
        recorded[pair] = (row["label"], row["source"])
        try:
            found = derive(row, pair in aspects, courses, split)
        except Fails as why:
            yield Difference(evidence, str(why), *pair)
            continue
        if found is None:
            report.unverified += 1
            continue
        report.derived += 1
        if found != row["label"]:
            yield Difference(evidence, f"it says {row['label']}, its evidence {found}", *pair)
        derived[pair] = found
    base: dict[Pair, int | None] = {}
    yield from _carried(folder, split, aspects, courses, recorded, derived, base, report)
    labels: dict[Pair, Label] = {}
    for pair, label in _labels(folder, split, recorded, derived, base, report):
        if isinstance(label, Difference):
            yield label
        else:
            labels[pair] = label
    yield from _qrels(folder, split, labels)
    yield from _gold(folder, split, labels, aspects, decomposed)


def _carried(
    folder: Path,
    split: str,
    aspects: set[Pair],
    courses: Courses,
    recorded: dict[Pair, tuple[int, str]],
    derived: dict[Pair, int],
    base: dict[Pair, int | None],
    report: Report,
) -> Iterator[Difference]:
    """What cleanings carried, of a release of a derived corpus version: derived once more."""
    name = f"carried/{split}.jsonl"
    if not (folder / name).is_file():
        return
    for row in _rows(folder / name):
        pair = (row["query_id"], row["passage_id"])
        try:
            gold, given, unverified = derive_carried(row, pair in aspects, courses, split)
        except Fails as why:
            yield Difference(name, str(why), *pair)
            continue
        report.unverified += unverified
        base[pair] = gold
        if gold != row["base"]:
            yield Difference(name, f"its gold is {row['base']}, what it came from {gold}", *pair)
        if row["label"] is None:
            continue
        recorded[pair] = (row["label"], row["source"])
        if given != row["label"]:
            yield Difference(name, f"it says {row['label']}, what it came from {given}", *pair)
        if given is not None and not unverified:
            report.derived += 1
            derived[pair] = given


def _labels(
    folder: Path,
    split: str,
    recorded: dict[Pair, tuple[int, str]],
    derived: dict[Pair, int],
    carried: dict[Pair, int | None],
    report: Report,
) -> Iterator[tuple[Pair, Label | Difference]]:
    """Each pair's label from the provenance, with the derived one in place of the recorded."""
    name = f"provenance/{split}.jsonl"
    base: dict[Pair, int] = {}
    given: dict[Pair, tuple[int, str]] = {}
    for row in _rows(folder / name):
        pair = (row["query_id"], row["passage_id"])
        report.labels += 1
        if row["source"] == "original":
            base[pair] = row["label"]
            if "carried" in row and carried.get(pair) != row["label"]:
                words = "its gold is not what its passages carry"
                yield pair, Difference(name, words, *pair)
        elif row["status"] == "standing":
            given[pair] = (row["label"], row["source"])
            if recorded.get(pair) != given[pair]:
                words = "its standing label is not that of the evidence"
                yield pair, Difference(name, words, *pair)
    for pair in base.keys() | given.keys():
        value, source = given.get(pair, (None, "original"))
        label = Label(
            passage=pair[1],
            passage_pk=0,
            base=base.get(pair),
            given=derived.get(pair, value),
            source=source,
        )
        yield pair, label


def _qrels(folder: Path, split: str, labels: dict[Pair, Label]) -> Iterator[Difference]:
    for view, read in VIEWS.items():
        name = f"qrels/{split}.{view}.txt"
        published: dict[Pair, int] = {}
        for line in (folder / name).read_text("utf-8").splitlines():
            qid, _, pid, words = line.split(" ")
            published[qid, pid] = int(words)
        for pair, value in published.items():
            label = labels.get(pair)
            wanted = None if label is None else read(label)
            if wanted != value:
                said = "nothing" if wanted is None else wanted
                yield Difference(name, f"it says {value}, the labels {said}", *pair)
        for pair, label in labels.items():
            wanted = read(label)
            if (wanted or 0) > 0 and pair not in published and all(map(fits_trec, pair)):
                yield Difference(name, f"the labels say {wanted}, it says nothing", *pair)


def _gold(
    folder: Path,
    split: str,
    labels: dict[Pair, Label],
    aspects: set[Pair],
    with_aspects: set[str],
) -> Iterator[Difference]:
    """`gold_ids` are the union of a query's aspects, else its positives in the expert view."""
    name = f"examples/{split}.parquet"
    documents = set(_column(folder / f"documents/{split}.parquet", "id"))
    positive: dict[str, set[str]] = {}
    for (qid, pid), label in labels.items():
        if label.expert > 0:
            positive.setdefault(qid, set()).add(pid)
    supported: dict[str, set[str]] = {}
    for qid, pid in aspects:
        supported.setdefault(qid, set()).add(pid)
    if not (folder / name).is_file():
        return
    for row in pq.read_table(folder / name, columns=["id", "gold_ids"]).to_pylist():
        qid, gold = str(row["id"]), set(row["gold_ids"] or ())
        wanted = supported.get(qid, set()) if qid in with_aspects else positive.get(qid, set())
        for pid in sorted(gold ^ wanted):
            words = "is gold there, not by the labels" if pid in gold else "is gold by the labels"
            yield Difference(name, words, qid, pid)
        for pid in sorted(gold - documents):
            yield Difference(name, "is gold and not in documents", qid, pid)


def _supporting(folder: Path, split: str) -> tuple[set[Pair], set[str]]:
    """(query, passage) of every support, and the queries that have aspects."""
    path = folder / f"aspects/{split}.parquet"
    if not path.is_file():
        return set(), set()
    rows = pq.read_table(path, columns=["id", "supporting_docs"]).to_pylist()
    found, queries = set(), set()
    for row in rows:
        qid = row["id"].removeprefix(f"{split}-").rpartition("-a")[0]
        queries.add(qid)
        found |= {(qid, pid) for pid in row["supporting_docs"] or ()}
    return found, queries


def _column(path: Path, name: str) -> Iterable[str]:
    if not path.is_file():
        return ()
    return pq.read_table(path, columns=[name]).column(name).to_pylist()


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise ValueError(f"{path.name}, line {number}: no JSON.") from error
