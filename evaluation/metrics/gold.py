"""What is right: labels, holes, weighted aspects and excluded ids, as arrays.

One row is one judged (query, passage) pair. Rows stand by query; all queries of the gold are the
scope of every mean.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from evaluation.metrics.faults import MetricFault, check_ids
from evaluation.metrics.run import Flags, Floats, Whole

Labels: TypeAlias = Mapping[str, Mapping[str, int]]
# An entry that stands for an empty list (docs/protocol.md 1.5 rule 2).
NOTHING = "N/A"
UNLABELLED = "queries with aspects but without labels, left out"
NOT_GOLD = "supporting passages that are not gold, left out"
NO_ASPECT = "gold passages without an aspect, left out of the measures of aspects"
# Above this 2^label has no exact float.
MAX_LABEL = 1000


@dataclass(frozen=True)
class Aspect:
    """One aspect of a query: its weight (raw or not, above 0) and the passages that support it."""

    weight: float
    passages: Collection[str]


AspectsOf: TypeAlias = Mapping[str, Mapping[str, Aspect]]


@dataclass(frozen=True)
class Aspects:
    """Aspects of all queries. Pair i says that gold row `row[i]` supports aspect `aspect[i]`.

    `share` holds the weights so that those of one query add up to 1 (docs/protocol.md 6.2); pairs
    stand by row.
    """

    names: list[tuple[str, str]]
    query: Whole
    weight: Floats
    share: Floats
    row: Whole
    aspect: Whole


@dataclass(frozen=True)
class Gold:
    """Labels of `len(qids)` queries in rows; `hole` is None where no original gold is known.

    `excluded[i]` are the passage ids to leave out of query i's list. `skipped` counts what an
    incomplete annotation made the profile `reference` leave out.
    """

    qids: list[str]
    query: Whole
    pids: list[str]
    label: Whole
    offsets: Whole
    hole: Flags | None = None
    aspects: Aspects | None = None
    excluded: Mapping[int, frozenset[str]] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    # What a measure computes of the gold alone, for all runs.
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        labels: Labels,
        *,
        aspects: AspectsOf | None = None,
        excluded: Mapping[str, Collection[str]] | None = None,
        base: Labels | None = None,
        complete: bool = True,
    ) -> "Gold":
        """From `{qid: {passage id: label}}`.

        `base` is the original gold: what is relevant here and not there is a hole (docs/protocol.md
        2.7). Raises MetricFault for what clashes; with `complete`, also where aspects and labels
        do not cover each other (docs/protocol.md 9).
        """
        for qid, each in labels.items():
            check_ids(each, f"query {qid}")
        faults = [*label_faults(labels), *_excluded_faults(labels, excluded or {})]
        faults += _weight_faults(aspects or {})
        gold, arrays, gaps = cls._plain({} if faults else labels), None, []
        if aspects is not None:
            arrays, covered = _arrays(gold, aspects)
            gaps = [] if covered else list(_gaps(labels, aspects))
        faults += [fault for _, fault in gaps] if complete else []
        if faults:
            raise MetricFault.of(faults)
        return replace(
            gold,
            hole=None if base is None else gold._holes(base),
            aspects=arrays,
            excluded=_excluded(gold, excluded or {}),
            skipped=Counter(what for what, _ in gaps),
        )

    @classmethod
    def _plain(cls, labels: Labels) -> "Gold":
        counts = [len(each) for each in labels.values()]
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(np.array(counts, np.int64), out=offsets[1:])
        return cls(
            qids=list(labels),
            query=np.repeat(np.arange(len(counts)), counts),
            pids=[pid for each in labels.values() for pid in each],
            label=np.array([n for each in labels.values() for n in each.values()], np.int64),
            offsets=offsets,
        )

    def _holes(self, base: Labels) -> Flags:
        is_new = np.ones(len(self.pids), np.bool_)
        for number, qid in enumerate(self.qids):
            start, end = self.offsets[number : number + 2].tolist()
            before = base.get(qid, {})
            is_new[start:end] = [before.get(pid, 0) <= 0 for pid in self.pids[start:end]]
        return (self.label > 0) & is_new

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each query."""
        return {qid: number for number, qid in enumerate(self.qids)}

    def rows_of(self, number: int) -> dict[str, int]:
        """The rows of a query by passage id; kept, as every run may ask for them."""
        if ("rows", number) not in self.memo:
            start, end = self.offsets[number : number + 2].tolist()
            rows = dict(zip(self.pids[start:end], range(start, end), strict=True))
            self.memo["rows", number] = rows
        found: dict[str, int] = self.memo["rows", number]
        return found

    def with_labels(self, label: Whole) -> "Gold":
        """The same pairs under other labels, for what-if questions; rankings stay valid."""
        return replace(self, label=label, memo={})

    def __len__(self) -> int:
        return len(self.qids)


def label_faults(labels: Labels) -> Iterator[str]:
    """What is no label, by query and passage: other than whole numbers, or beyond MAX_LABEL."""
    values = [label for each in labels.values() for label in each.values()]
    if set(map(type, values)) <= {int} and max(map(abs, values), default=0) <= MAX_LABEL:
        return
    for qid, each in labels.items():
        for pid, label in each.items():
            if isinstance(label, bool) or not isinstance(label, int | np.integer):
                yield f"query {qid}: {pid}: a label must be a whole number, not {label!r:.40}."
            elif abs(label) > MAX_LABEL:
                yield f"query {qid}: {pid}: a label lies between -{MAX_LABEL} and {MAX_LABEL}."


def _excluded_faults(labels: Labels, excluded: Mapping[str, Collection[str]]) -> Iterator[str]:
    for qid, ids in excluded.items():
        gold = {pid for pid, label in labels.get(qid, {}).items() if label > 0}
        for pid in sorted(gold.intersection(ids)) if NOTHING not in ids else ():
            yield f"query {qid}: {pid} is excluded and gold at once."


def _weight_faults(aspects: AspectsOf) -> Iterator[str]:
    for qid, named in aspects.items():
        for name, aspect in named.items():
            if not (isfinite(aspect.weight) and aspect.weight > 0):
                what = f"a weight above 0 is needed, not {aspect.weight}."
                yield f"query {qid}, aspect {name}: {what}"


def _gaps(labels: Labels, aspects: AspectsOf) -> Iterator[tuple[str, str]]:
    """Where aspects and labels do not cover each other: the kind, and the fault in words."""
    for qid, named in aspects.items():
        if qid not in labels:
            yield UNLABELLED, f"query {qid} has aspects but no labels."
            continue
        gold = {pid for pid, label in labels[qid].items() if label > 0}
        supporting = set[str]().union(*(each.passages for each in named.values()))
        if supporting == gold:
            continue
        for pid in sorted(supporting - gold):
            yield NOT_GOLD, f"query {qid}: {pid} supports an aspect but is not gold."
        for pid in sorted(gold - supporting):
            yield NO_ASPECT, f"query {qid}: {pid} is gold but supports no aspect."


def _excluded(gold: Gold, excluded: Mapping[str, Collection[str]]) -> Mapping[int, frozenset[str]]:
    return {
        gold.number_of[qid]: frozenset(ids)
        for qid, ids in excluded.items()
        if qid in gold.number_of and ids and NOTHING not in ids
    }


def _arrays(gold: Gold, aspects: AspectsOf) -> tuple[Aspects, bool]:
    """The aspects of labelled queries; and whether they and the labels cover each other, so that
    there is no gap."""
    names: list[tuple[str, str]] = []
    query: list[int] = []
    weight: list[float] = []
    row: list[int] = []
    counts: list[int] = []
    judged: list[int] = []
    is_known = True
    for qid, named in aspects.items():
        number = gold.number_of.get(qid)
        if number is None:
            is_known = False
            continue
        judged.append(number)
        row_of = gold.rows_of(number).get
        for name, each in named.items():
            found = {row_of(pid, -1) for pid in each.passages}
            if -1 in found:
                is_known = False
                found.remove(-1)
            row += found
            counts.append(len(found))
            names.append((qid, name))
            query.append(number)
            weight.append(float(each.weight))
    owners, weights = np.array(query, np.int64), np.array(weight, np.float64)
    sums = np.bincount(owners, weights, len(gold))
    rows, aspect = np.array(row, np.int64), np.repeat(np.arange(len(names)), counts)
    order = np.argsort(rows * len(names) + aspect)
    shares = weights / sums[owners]
    arrays = Aspects(names, owners, weights, shares, rows[order], aspect[order])
    is_supported, is_asked = np.zeros(len(gold.pids), np.bool_), np.zeros(len(gold), np.bool_)
    is_supported[rows], is_asked[judged] = True, True
    relevant = (gold.label > 0) & is_asked[gold.query]
    return arrays, is_known and np.array_equal(is_supported, relevant)
