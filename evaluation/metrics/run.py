"""What one system returned, as arrays: scores of all lists in a row, ids as they were given."""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evaluation.metrics.faults import MetricFault, check_ids, id_fault

Floats: TypeAlias = npt.NDArray[np.float64]
Whole: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
# A list with its repetitions, as (passage id, score).
Raw: TypeAlias = list[tuple[str, float]]


@dataclass(frozen=True)
class Run:
    """The lists of one run in the order of its file.

    `lists[i]` maps the passage ids of query `qids[i]` to their scores, in the order given, each
    once (the first occurrence, docs/protocol.md 1.5 rule 4); `scores[offsets[i]:offsets[i + 1]]`
    are the same scores. `raw` keeps the whole list of each query that names a passage twice.
    """

    qids: list[str]
    lists: list[Mapping[str, float]]
    scores: Floats
    offsets: Whole
    raw: Mapping[int, Raw] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        queries: Mapping[str, Mapping[str, float] | Sequence[str]],
        *,
        are_texts: bool = False,
    ) -> "Run":
        """From `{qid: {passage id: score}}`, or `{qid: [passage id, ...]}` where it is ranked.

        Raises MetricFault naming query and passage of what is no id and no finite number. With
        `are_texts` the caller knows that every id is sound text, and only empty ones are sought.
        """
        if all(isinstance(each, dict) for each in queries.values()):
            lists: list[Any] = list(queries.values())
            return cls._checked(list(queries), lists, {}, are_texts=are_texts)
        return cls.of_lists(
            (qid, list(each), list(each.values()) if isinstance(each, Mapping) else None)
            for qid, each in queries.items()
        )

    @classmethod
    def of_lists(cls, lists: Iterable[tuple[str, Sequence[str], Sequence[float] | None]]) -> "Run":
        """From (query id, passage ids, their scores or None where only the order is known).

        Where there are no scores they count down from 0, so that every rule keeps the order.
        """
        qids: list[str] = []
        kept: list[Mapping[str, float]] = []
        raw: dict[int, Raw] = {}
        for qid, pids, given in lists:
            check_ids(pids, f"query {qid}")
            scores = range(0, -len(pids), -1) if given is None else given
            found = dict(zip(pids, scores, strict=True))
            if len(found) < len(pids):
                raw[len(qids)] = list(zip(pids, scores, strict=True))
                first = dict(reversed(raw[len(qids)]))
                found = {pid: first[pid] for pid in found}
            qids.append(qid)
            kept.append(found)
        return cls._checked(qids, kept, raw)

    @classmethod
    def _checked(
        cls,
        qids: list[str],
        lists: list[Mapping[str, float]],
        raw: dict[int, Raw],
        *,
        are_texts: bool = False,
    ) -> "Run":
        if faults := [f"query {qid!r}: {fault}" for qid in qids if (fault := id_fault(qid))]:
            raise MetricFault.of(faults)
        if len(set(qids)) < len(qids):
            twice = [qid for qid, times in Counter(qids).items() if times > 1]
            raise MetricFault.of(f"query {qid}: it stands twice in this run." for qid in twice)
        for qid, each in zip(qids, lists, strict=True):
            if not are_texts or "" in each:
                check_ids(each, f"query {qid}")
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, lists), np.int64), out=offsets[1:])
        return cls(qids, lists, _flat(qids, lists), offsets, raw)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Where each query stands in this run."""
        return {qid: number for number, qid in enumerate(self.qids)}

    @cached_property
    def repeated(self) -> int:
        """Passages ranked again in the same list, which only the profile `reference` credits."""
        return sum(len(pairs) - len(self.lists[each]) for each, pairs in self.raw.items())

    @cached_property
    def unsorted(self) -> int:
        """Lists that are not given in the order of their scores."""
        rises = self.scores[1:] > self.scores[:-1]
        rises[self._seams] = False
        before = np.zeros(len(self.scores) + 1, np.int64)
        np.cumsum(rises, out=before[2:])
        return int((np.diff(before[self.offsets]) > 0).sum())

    @property
    def _seams(self) -> Whole:
        """Places of neighbours that belong to two lists."""
        edges = self.offsets[1:-1]
        return np.asarray(edges[(edges > 0) & (edges < len(self.scores))] - 1)

    @cached_property
    def descending(self) -> Floats:
        """The scores of each list, highest first."""
        return sorted_down(self.scores, self.offsets) if self.unsorted else self.scores

    @cached_property
    def descending_single(self) -> Floats:
        """The same in the single precision that trec_eval keeps scores in."""
        single = self.scores.astype(np.float32).astype(np.float64)
        return sorted_down(single, self.offsets) if self.unsorted else single

    @cached_property
    def tied(self) -> Whole:
        """For each query the number of passages that share their score with another."""
        same = self.descending[1:] == self.descending[:-1]
        same[self._seams] = False
        if not same.any():
            return np.zeros(len(self.lists), np.int64)
        shares = np.zeros(len(self.scores), np.bool_)
        shares[1:] |= same
        shares[:-1] |= same
        before = np.zeros(len(self.scores) + 1, np.int64)
        np.cumsum(shares, out=before[1:])
        return np.diff(before[self.offsets])


def sorted_down(scores: Floats, offsets: Whole) -> Floats:
    """A copy in which every list goes down."""
    found = -scores
    for start, end in pairwise(offsets.tolist()):
        found[start:end].sort()
    return np.negative(found, out=found)


def _flat(qids: list[str], lists: list[Mapping[str, float]]) -> Floats:
    """All scores in a row; raises MetricFault for what is no finite number."""
    try:
        # struct takes numbers only, and half the time of numpy's fromiter, which takes texts, too.
        packed = b"".join([struct.pack(f"{len(each)}d", *each.values()) for each in lists])
    except (struct.error, OverflowError):
        raise MetricFault.of(_wrong_scores(qids, lists)) from None
    flat = np.frombuffer(packed, np.float64)
    # Only where a score is 0 or 1 can it be false or true.
    may_be_flags = bool(((flat == 0.0) | (flat == 1.0)).any())
    if not np.isfinite(flat).all() or (may_be_flags and _holds_flags(lists)):
        raise MetricFault.of(_wrong_scores(qids, lists))
    return flat


def _holds_flags(lists: list[Mapping[str, float]]) -> bool:
    return any(bool in set(map(type, each.values())) for each in lists)


def _wrong_scores(qids: list[str], lists: list[Mapping[str, float]]) -> Iterator[str]:
    for qid, each in zip(qids, lists, strict=True):
        for pid, score in each.items():
            if not _is_finite(score):
                what = f"a score must be a finite number, not {score!r:.40}."
                yield f"query {qid}: {pid[:80]}: {what}"


def _is_finite(score: Any) -> bool:
    if isinstance(score, bool):
        return False
    try:
        return bool(np.isfinite(struct.unpack("d", struct.pack("d", score))[0]))
    except (struct.error, OverflowError):
        return False
