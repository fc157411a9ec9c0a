"""Checking a release's folder against itself: files, labels, gold, citations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evaluation.exporters.checksums import SUMS, file_sum
from evaluation.exporters.records import Label
from evaluation.verification.answers import check_answers, check_prompts
from evaluation.verification.carried import derive_carried
from evaluation.verification.copies import check_copies
from evaluation.verification.courses import Courses
from evaluation.verification.faults import Fails
from evaluation.verification.reviews import check_reviews
from evaluation.verification.rows import Difference, Pair, objects
from evaluation.verification.rules import derive

# What reading a file that somebody touched may raise.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_PAIR: dict[str, type] = {"query_id": str, "passage_id": str}
_ASPECT = re.compile(r"(.*)-a([0-9]+)", re.DOTALL)


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
        for check in (_split, _answers, _reviews):
            try:
                for each in check(folder, split, report):
                    report.differences.append(each)
            except UNREADABLE as error:
                words = f"the files of this split cannot be read any further: {error}"
                report.differences.append(Difference(split, words))
    report.differences += [Difference(*each) for each in check_prompts(folder)]
    return report


def _reviews(folder: Path, split: str, report: Report) -> Iterator[Difference]:
    return check_reviews(folder, split)


def _answers(folder: Path, split: str, report: Report) -> Iterator[Difference]:
    return (Difference(*each) for each in check_answers(folder, split))


def _files(folder: Path, report: Report) -> Iterator[Difference]:
    """Against the checksums. Hidden files are those of tools that keep folders."""
    listed = {SUMS}
    for line in (folder / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        path = folder / name
        report.files += 1
        listed.add(name)
        if ".." in Path(name).parts or not path.is_file():
            yield Difference(name or SUMS, "the file is not there")
        elif file_sum(path) != digest:
            yield Difference(name, "its checksum is another")
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in place.parts)
        if path.is_file() and not is_hidden and place.as_posix() not in listed:
            yield Difference(place.as_posix(), "the file has no checksum")


def _split(folder: Path, split: str, report: Report) -> Iterator[Difference]:
    supports, decomposed = _supporting(folder, split)
    aspects = {(qid, pid) for qid, _, pid in supports}
    courses = Courses(folder)
    evidence = f"evidence/{split}.jsonl"
    derived: dict[Pair, int] = {}
    recorded: dict[Pair, tuple[int, str]] = {}
    faults: list[Difference] = []
    for row in objects(folder, evidence, faults, **_PAIR, label=int, source=str):
        pair = (row["query_id"], row["passage_id"])
        if pair in recorded:
            yield Difference(evidence, "it stands there twice", *pair)
        recorded[pair] = (row["label"], row["source"])
        try:
            found = derive(row, pair in aspects, courses, split)
        except Fails as why:
            yield Difference(evidence, str(why), *pair)
            continue
        except UNREADABLE as error:
            yield Difference(evidence, f"its evidence cannot be read ({error!r})", *pair)
            continue
        if found is None:
            report.unverified += 1
            continue
        report.derived += 1
        if found != row["label"]:
            yield Difference(evidence, f"it says {row['label']}, its evidence {found}", *pair)
        derived[pair] = found
    yield from faults
    base: dict[Pair, int | None] = {}
    yield from _carried(folder, split, aspects, courses, recorded, derived, base, report)
    labels: dict[Pair, Label] = {}
    for pair, label in _labels(folder, split, recorded, derived, base, report):
        if isinstance(label, Difference):
            yield label
        else:
            labels[pair] = label
    yield from check_copies(folder, split, labels, supports, decomposed)


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
    faults: list[Difference] = []
    for row in objects(folder, name, faults, **_PAIR, carried=dict):
        pair = (row["query_id"], row["passage_id"])
        try:
            gold, given, unverified = derive_carried(row, pair in aspects, courses, split)
        except Fails as why:
            yield Difference(name, str(why), *pair)
            continue
        except UNREADABLE as error:
            yield Difference(name, f"its evidence cannot be read ({error!r})", *pair)
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
    yield from faults


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
    faults: list[Difference] = []
    for row in objects(folder, name, faults, **_PAIR, label=int, source=str, status=str):
        pair = (row["query_id"], row["passage_id"])
        report.labels += 1
        is_original = row["source"] == "original"
        if pair in (base if is_original else given) and (is_original or _stands(row)):
            yield pair, Difference(name, "it stands there twice", *pair)
        if is_original:
            base[pair] = row["label"]
            if "carried" in row and carried.get(pair) != row["label"]:
                words = "its gold is not what its passages carry"
                yield pair, Difference(name, words, *pair)
        elif _stands(row):
            given[pair] = (row["label"], row["source"])
            if recorded.get(pair) != given[pair]:
                words = "its standing label is not that of the evidence"
                yield pair, Difference(name, words, *pair)
    for fault in faults:
        yield ("", ""), fault
    for pair in sorted(recorded.keys() - given.keys()):
        yield pair, Difference(name, "the evidence has a label for it that does not stand", *pair)
    for pair in base.keys() | given.keys():
        value, source = given.get(pair, (None, "original"))
        now = derived.get(pair, value)
        yield pair, Label(pair[1], passage_pk=0, base=base.get(pair), given=now, source=source)


def _stands(row: dict[str, Any]) -> bool:
    return bool(row["status"] == "standing")


def _supporting(folder: Path, split: str) -> tuple[set[tuple[str, str, str]], set[str]]:
    """(query, number of the aspect, passage) of each support, and the queries with aspects."""
    path = folder / f"aspects/{split}.parquet"
    if not path.is_file():
        return set(), set()
    rows = pq.read_table(path, columns=["id", "supporting_docs"]).to_pylist()
    found, queries = set(), set()
    for row in rows:
        match = _ASPECT.fullmatch(row["id"].removeprefix(f"{split}-"))
        if match is None:
            raise ValueError(f"aspects/{split}.parquet: {row['id']!r} is no id of an aspect")
        qid, k = match.groups()
        queries.add(qid)
        found |= {(qid, k, pid) for pid in row["supporting_docs"] or ()}
    return found, queries
