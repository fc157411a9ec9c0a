"""Where the passages that the gold names stand in a run.

Every measure needs the ranks of judged passages and nothing else of a list, so only these are
looked up. A rank is one more than the passages with a higher score; ids are compared only among
passages whose score is equal.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np

from evaluation.metrics.gold import Gold
from evaluation.metrics.profiles import Tie
from evaluation.metrics.run import Flags, Floats, Run, Whole

# The row of a passage that is excluded.
_OUT = -1
# So many passages of a list are found sooner by their scores than by walking through all ids.
_FEW = 16
# A list so many times shorter than the gold of its query is looked up in the gold.
_SHORT = 2


@dataclass(frozen=True)
class Ranked:
    """Gold rows found in a run: row, query and rank (from 1), by query and rank.

    `returned` counts the passages of each list, `present` says whether the run holds the query.
    """

    row: Whole
    query: Whole
    rank: Whole
    returned: Whole
    present: Flags
    excluded: int = 0
    cut: int = 0

    def up_to(self, depth: int | None) -> "Ranked":
        """Lists cut at this depth; None leaves them."""
        if depth is None or not (self.returned > depth).any():
            return self
        keep = self.rank <= depth
        return replace(
            self,
            row=self.row[keep],
            query=self.query[keep],
            rank=self.rank[keep],
            returned=np.minimum(self.returned, depth),
            cut=int(np.maximum(self.returned - depth, 0).sum()),
        )


@dataclass(frozen=True)
class Matched:
    """The passages of a gold that a run returned, before equal scores are put in order.

    `known` is the number of each query of the gold in the run, -1 where it is absent.
    """

    run: Run
    gold: Gold
    known: Whole
    row: Whole
    query: Whole
    segment: Whole
    score: Floats
    pids: list[str]
    _ranked: dict[tuple[Tie, bool], Ranked] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, run: Run, gold: Gold) -> "Matched":
        """Look up every passage that is judged or excluded."""
        known = np.array([run.number_of.get(qid, -1) for qid in gold.qids], np.int64)
        lists = [run.lists[n] if n >= 0 else {} for n in known.tolist()]
        short: list[int] = []

        def judged() -> Iterator[Iterable[float]]:
            edges = pairwise(gold.offsets.tolist())
            for number, (given, (start, end)) in enumerate(zip(lists, edges, strict=True)):
                if _SHORT * len(given) < end - start:
                    short.append(number)
                    yield repeat(np.nan, end - start)
                else:
                    yield map(given.get, gold.pids[start:end], repeat(np.nan))

        scores = chain.from_iterable(judged())
        score = np.fromiter(scores, np.float64, len(gold.pids))
        for number in short:
            row_of, given = gold.rows_of(number), lists[number]
            both = [pid for pid in given if pid in row_of]
            score[[row_of[pid] for pid in both]] = [given[pid] for pid in both]
        row = np.flatnonzero(~np.isnan(score))  # no score in a run is NaN
        query, score = gold.query[row], score[row]
        pids = list(map(gold.pids.__getitem__, row.tolist()))
        out = [
            (number, pid, lists[number][pid])
            for number, excluded in gold.excluded.items()
            for pid in excluded
            if pid in lists[number]
        ]
        if out:
            row = np.concatenate((row, np.full(len(out), _OUT)))
            query = np.concatenate((query, [number for number, _, _ in out]))
            score = np.concatenate((score, [value for _, _, value in out]))
            pids += [pid for _, pid, _ in out]
            order = np.argsort(query, kind="stable")
            row, query, score = row[order], query[order], score[order]
            pids = [pids[each] for each in order.tolist()]
        return cls(run, gold, known, row, query, known[query], score, pids)

    def ranked(self, tie: Tie, *, repeats: bool = False) -> Ranked:
        """The ranks under this rule; with `repeats` a repeated passage stands there again."""
        key = tie, repeats and bool(self.run.raw)
        if key not in self._ranked:
            found = self._without_excluded(self._ranks(tie))
            self._ranked[key] = _with_repeats(self, found, tie) if key[1] else found
        return self._ranked[key]

    def _ranks(self, tie: Tie) -> Whole:
        if tie is Tie.FILE:
            return self._as_given()
        score, down = self.score, self.run.descending
        if tie is Tie.TREC:
            score, down = score.astype(np.float32).astype(float), self.run.descending_single
        start, end = self.run.offsets[self.segment], self.run.offsets[self.segment + 1]
        first = _first(start, end, lambda at: down[at] <= score)
        last = _first(start, end, lambda at: down[at] < score)
        rank = first - start + 1
        tied = np.flatnonzero(last - first > 1)
        if len(tied):
            rank[tied] += self._places(tied, score, tie)
        return np.asarray(rank)

    def _as_given(self) -> Whole:
        """Places in the file, from 1."""
        place = np.zeros(len(self.pids), np.int64)
        for number, members in _groups(self.segment):
            ids = self.run.lists[number]
            left = {self.pids[each]: each for each in members}
            if len(members) <= _FEW:
                start, end = self.run.offsets[number : number + 2]
                for pid, each in list(left.items()):
                    at = np.flatnonzero(self.run.scores[start:end] == self.score[each])
                    if len(at) == 1:
                        place[left.pop(pid)] = at[0] + 1
            for rank, pid in enumerate(ids, start=1) if left else ():
                if pid in left:
                    place[left[pid]] = rank
        return place

    def _places(self, tied: Whole, score: Floats, tie: Tie) -> Whole:
        """How many of its equals come before each of these passages."""
        before = np.zeros(len(tied), np.int64)
        for number, members in _groups(self.segment[tied]):
            ids = list(self.run.lists[number])
            start, end = self.run.offsets[number : number + 2]
            given = self.run.scores[start:end]
            if tie is Tie.TREC:
                given = given.astype(np.float32).astype(float)
            orders: dict[float, dict[str, int]] = {}
            for each in members:
                value = float(score[tied[each]])
                if value not in orders:
                    equals = [ids[at] for at in np.flatnonzero(given == value).tolist()]
                    orders[value] = {pid: n for n, pid in enumerate(_in_order(equals, tie))}
                before[each] = orders[value][self.pids[tied[each]]]
        return before

    def _without_excluded(self, rank: Whole) -> Ranked:
        order = np.lexsort((rank, self.query))
        row, query, rank = self.row[order], self.query[order], rank[order]
        out = row == _OUT
        before = np.cumsum(out)
        first = np.searchsorted(query, query, side="left")
        rank = rank - (before - before[first] + out[first]) * ~out if len(out) else rank
        returned = np.zeros(len(self.gold), np.int64)
        present = self.known >= 0
        lengths = np.diff(self.run.offsets)
        returned[present] = lengths[self.known[present]]
        returned -= np.bincount(query[out], minlength=len(self.gold))
        keep = ~out
        return Ranked(row[keep], query[keep], rank[keep], returned, present, int(out.sum()))


def _in_order(equals: list[str], tie: Tie) -> list[str]:
    return equals if tie is Tie.GIVEN else sorted(equals, reverse=tie is not Tie.ID)


def _first(start: Whole, end: Whole, holds: Callable[[Whole], Flags]) -> Whole:
    """For each pair the first place in [start, end) where `holds` is true, else `end`.

    `holds` gets one place for each pair and must, in each, turn true once and stay so.
    """
    low, high = start.copy(), end.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        true = holds(np.minimum(middle, end - 1))
        high = np.where(open_ & true, middle, high)
        low = np.where(open_ & ~true, middle + 1, low)
    return low


def _groups(numbers: Whole) -> Iterator[tuple[int, list[int]]]:
    """(number, the places where it stands), for numbers of which equal ones stand together."""
    if len(numbers):
        edges = np.flatnonzero(np.diff(numbers)) + 1
        for part in np.split(np.arange(len(numbers)), edges):
            yield int(numbers[part[0]]), part.tolist()


def _with_repeats(matched: Matched, found: Ranked, tie: Tie) -> Ranked:
    """The lists that repeat passages as the reference reads them: every occurrence has a rank."""
    new: list[tuple[int, int, int]] = []
    returned = found.returned.copy()
    touched: list[int] = []
    for number, pairs in matched.run.raw.items():
        query = matched.gold.number_of.get(matched.run.qids[number])
        if query is None:
            continue
        touched.append(query)
        out = matched.gold.excluded.get(query, frozenset())
        ordered = pairs if tie is Tie.FILE else sorted(pairs, key=lambda pair: -pair[1])
        left = [pid for pid in [pid for pid, _ in ordered] if pid not in out]
        returned[query] = len(left)
        rows = map(matched.gold.rows_of(query).get, left)
        new += [(row, query, n) for n, row in enumerate(rows, start=1) if row is not None]
    keep = ~np.isin(found.query, touched)
    more: Any = np.array(new, np.int64).reshape(-1, 3)
    row, query_, rank = (
        np.concatenate((column[keep], more[:, n]))
        for n, column in enumerate((found.row, found.query, found.rank))
    )
    order = np.lexsort((rank, query_))
    return replace(found, row=row[order], query=query_[order], rank=rank[order], returned=returned)
