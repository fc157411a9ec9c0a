"""Checking a release's folder against itself: files, labels, gold, citations.

Inherited labels of a cleaned version: the rule followed again, from the release alone.

A chunk has a label above 0 where one of the older passages whose labels it inherits has; it has one
of 0 only where each older passage in it was judged and it holds no text beside them (which counts
as one more passage, without a label), or where all that made it gold was taken back
(docs/cleaning.md; docs/protocol.md 4.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from corpus.marcus.inheritance import inherited_label
from evaluation.exporters.files import SUMS, file_sum
from evaluation.exporters.records import Label
from evaluation.exporters.votes import FILE as VOTES
from evaluation.verification.copies import TWICE, Support, check_copies
from evaluation.verification.evidence import (
    check_answers,
    check_chain,
    check_prompts,
    check_reviews,
    check_votes,
)
from evaluation.verification.machine_gold import check_machine_gold
from evaluation.verification.rows import (
    UNREADABLE,
    NotDerived,
    Pair,
    Report,
    objects,
    query_of,
    supports_of,
    why_not,
)
from evaluation.verification.rules import Courses, derive

Row = Mapping[str, Any]


def derive_inherited(
    row: Row, supporting: bool, courses: Courses | None = None, split: str = ""
) -> tuple[int | None, int | None, int]:
    """(label of the imported gold, label given since, labels that could not be derived).

    Either is None where nothing is inherited. `supporting` says whether the release's aspects list
    the passage; `courses` are those of the release's LARA runs (rules.py). Raises NotDerived.
    """
    inherited = row["carried"]
    parts: Sequence[Row] = inherited["from"]
    sources = [(n, bool(part["carries"])) for n, part in enumerate(parts)]
    # Older passages without any label for this query: they only count as not judged.
    sources += [(-1 - n, False) for n in range(int(inherited["of"]) - len(parts))]
    gold: dict[int, int] = {}
    counts: dict[int, int] = {}
    unverified = 0
    for number, part in enumerate(parts):
        base, given, missed = _part(part, supporting, courses, split)
        unverified += missed
        if base is not None:
            gold[number] = base
        label = base if given is None else given
        if label is not None:
            counts[number] = label
    base, label = inherited_label(gold, sources), inherited_label(counts, sources)
    if label is None and (base or 0) > 0:
        label = 0
    since = label if _is_given(label, parts, counts) else None
    return base, since, unverified


def _is_given(label: int | None, parts: Sequence[Row], counts: Mapping[int, int]) -> bool:
    """Whether a label given since the import is among those that the label follows from."""
    if label is None:
        return False
    for number, part in enumerate(parts):
        counts_here = part["carries"] and counts.get(number) == label if label > 0 else True
        if counts_here and part["given"] is not None:
            return True
    return False


def _part(
    part: Row, supporting: bool, courses: Courses | None, split: str
) -> tuple[int | None, int | None, int]:
    """What one older passage has: by its own evidence, or by what it inherited."""
    base, given, unverified = part["base"], part["given"], 0
    label = None if given is None else int(given["label"])
    if "carried" in part:
        inherited, since, unverified = derive_inherited(part, supporting, courses, split)
        if inherited != base:
            raise NotDerived(
                f"{part['passage_id']} is {base} in the gold, what it came from {inherited}"
            )
        if given is not None and "rule" not in given and since != label:
            raise NotDerived(f"{part['passage_id']} is {label}, what it came from {since}")
    if given is not None and "rule" in given:
        # An expert's label follows from the aspects: they list the chunk that inherits it.
        is_listed = given["rule"] == "assigned" and (supporting or not part["carries"])
        found = derive(dict(given), is_listed, courses, split)
        if found is None:
            unverified += 1
        elif found != label:
            raise NotDerived(f"{part['passage_id']} says {label}, its evidence {found}")
    return base, label, unverified


_PAIR: dict[str, type] = {"query_id": str, "passage_id": str}


def verify(folder: Path, *, checksums: bool = True) -> Report:
    """Derive every label of the folder anew; raises OSError and ValueError for no release.

    Without `checksums` files are not summed up again, as for a folder that was just written.
    """
    report = Report()
    if checksums:
        _check_files(folder, report)
    splits = sorted(path.stem for path in (folder / "provenance").glob("*.jsonl"))
    if not splits:
        raise ValueError(f"{folder} holds no provenance: it is no release.")
    for split in splits:
        for check in (_check_labels, check_answers, check_reviews, check_machine_gold):
            try:
                check(folder, split, report)
            except UNREADABLE as error:
                report.add(split, f"the files of this split cannot be read any further: {error}")
    check_prompts(folder, report)
    check_chain(folder, report)
    try:
        check_votes(folder, splits, report)
    except UNREADABLE as error:
        report.add(VOTES, f"the chain of votes cannot be read any further: {error}")
    return report


def _check_files(folder: Path, report: Report) -> None:
    """Against the checksums. Hidden files are those of tools that keep folders, as are compiled
    ones: Python's of the programs in `tools/`."""
    listed = {SUMS}
    for line in (folder / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        path = folder / name
        report.files += 1
        listed.add(name)
        if ".." in Path(name).parts or not path.is_file():
            report.add(name or SUMS, "the file is not there")
        elif file_sum(path) != digest:
            report.add(name, "its checksum is another")
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        is_hidden = any(part.startswith(".") or part == "__pycache__" for part in place.parts)
        if path.is_file() and not is_hidden and place.as_posix() not in listed:
            report.add(place.as_posix(), "the file has no checksum")


def _check_labels(folder: Path, split: str, report: Report) -> None:
    _Split(folder, split, report).check()


@dataclass
class _Split:
    """The labels of one split: as the evidence records them, and as they are derived from it."""

    folder: Path
    split: str
    report: Report
    # (query, number of the aspect, passage), the queries with aspects, and (query, passage).
    supports: set[Support] = field(default_factory=set)
    decomposed: set[str] = field(default_factory=set)
    supporting: set[Pair] = field(default_factory=set)
    recorded: dict[Pair, tuple[int, str]] = field(default_factory=dict)
    derived: dict[Pair, int] = field(default_factory=dict)
    # Of a derived corpus version the imported gold that each pair inherits.
    gold: dict[Pair, int | None] = field(default_factory=dict)

    def check(self) -> None:
        self._read_aspects()
        courses = Courses(self.folder)
        self._derive(courses)
        self._derive_inherited(courses)
        labels = self._labels()
        check_copies(self.folder, self.split, labels, self.supports, self.decomposed, self.report)

    def _read_aspects(self) -> None:
        path = self.folder / f"aspects/{self.split}.parquet"
        if not path.is_file():
            return
        for aspect in pq.read_table(path, columns=["id"])["id"].to_pylist():
            self.decomposed.add(query_of(aspect, self.split)[0])
        self.supports = {(*query_of(aspect, self.split), pid) for aspect, pid in supports_of(path)}
        self.supporting = {(qid, pid) for qid, _, pid in self.supports}

    def _derive(self, courses: Courses) -> None:
        name = f"evidence/{self.split}.jsonl"
        for row in objects(self.folder, name, self.report, **_PAIR, label=int, source=str):
            pair = (row["query_id"], row["passage_id"])
            if pair in self.recorded:
                self.report.add(name, TWICE, *pair)
            self.recorded[pair] = (row["label"], row["source"])
            try:
                found = derive(row, pair in self.supporting, courses, self.split)
            except UNREADABLE as error:
                self.report.add(name, why_not(error), *pair)
                continue
            if found is None:
                self.report.unverified += 1
                continue
            self.report.derived += 1
            self.derived[pair] = found
            if found != row["label"]:
                self.report.add(name, f"it says {row['label']}, its evidence {found}", *pair)

    def _derive_inherited(self, courses: Courses) -> None:
        """Inherited labels, of a release of a derived corpus version."""
        name = f"carried/{self.split}.jsonl"
        if not (self.folder / name).is_file():
            return
        for row in objects(self.folder, name, self.report, **_PAIR, carried=dict):
            pair = (row["query_id"], row["passage_id"])
            try:
                gold, given, unverified = derive_inherited(
                    row, pair in self.supporting, courses, self.split
                )
            except UNREADABLE as error:
                self.report.add(name, why_not(error), *pair)
                continue
            self.report.unverified += unverified
            self.gold[pair] = gold
            if gold != row["base"]:
                why = f"its gold is {row['base']}, what it came from {gold}"
                self.report.add(name, why, *pair)
            if row["label"] is None:
                continue
            self.recorded[pair] = (row["label"], row["source"])
            if given != row["label"]:
                why = f"it says {row['label']}, what it came from {given}"
                self.report.add(name, why, *pair)
            if given is not None and not unverified:
                self.report.derived += 1
                self.derived[pair] = given

    def _labels(self) -> dict[Pair, Label]:
        """Each pair's label from the provenance, with the derived one instead of the recorded."""
        name = f"provenance/{self.split}.jsonl"
        base: dict[Pair, int] = {}
        given: dict[Pair, tuple[int, str]] = {}
        fields: dict[str, type] = {**_PAIR, "label": int, "source": str, "status": str}
        for row in objects(self.folder, name, self.report, **fields):
            pair = (row["query_id"], row["passage_id"])
            self.report.labels += 1
            if row["source"] == "original":
                if pair in base:
                    self.report.add(name, TWICE, *pair)
                base[pair] = row["label"]
                if "carried" in row and self.gold.get(pair) != row["label"]:
                    self.report.add(name, "its gold is not what its passages carry", *pair)
            elif row["status"] == "standing":
                if pair in given:
                    self.report.add(name, TWICE, *pair)
                given[pair] = (row["label"], row["source"])
                if self.recorded.get(pair) != given[pair]:
                    self.report.add(name, "its standing label is not that of the evidence", *pair)
        for pair in sorted(self.recorded.keys() - given.keys()):
            self.report.add(name, "the evidence has a label for it that does not stand", *pair)
        labels = {}
        for pair in base.keys() | given.keys():
            value, source = given.get(pair, (None, "original"))
            now = self.derived.get(pair, value)
            labels[pair] = Label(
                pair[1], passage_pk=0, base=base.get(pair), given=now, source=source
            )
        return labels
