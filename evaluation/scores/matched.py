"""The matched pool: two corpus versions scored over the loaded passages that both still contain.

A cleaning that drops passages raises scores by itself, for there is less to rank above the gold
(docs/protocol.md M08). So lists of either version are read as lists of loaded passages: a passage
of a derived version stands for those whose labels it takes over (docs/protocol.md 4.5), and of
several for one the best score counts (docs/protocol.md 5.1, 5.3). What one side lacks is left out
of both, from lists, labels and aspects alike.

The gold is that of the loaded passages, with labels that were given for cleaned ones. Where a
cleaned passage is made from one loaded passage, what supports the query in it is in that one as
well; that nothing does is said of the loaded one only where it became this passage and no other.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from corpus.judgments.models import Source
from corpus.judgments.shown import shown_labels
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Domain,
    Judgment,
    Passage,
    RankedList,
    RetrievalRun,
)
from corpus.versions.crosswalk import kept_of, origins, targets
from evaluation.content.inherited_view import known
from evaluation.exporters.records import Label, QueryRecord
from evaluation.metrics.run import Run
from kit.errors import Refused

SAME = "Both sides are one corpus version: there is nothing to match. Choose two."
# A list that is left shorter says little about the first ten.
_ENOUGH = 10
_CHUNK = 500  # ids in one question
Pair = tuple[int, int]


def given_since(
    versions: Iterable[CorpusVersion], domain: Domain, shared: Collection[int]
) -> tuple[dict[int, dict[int, Label]], int]:
    """By query and loaded passage of `shared` what was given for passages of the derived versions
    (among these and their parents) that were made from it alone, the highest where several were;
    and how many relevant labels there are of passages that were made from several."""
    labels: dict[int, dict[int, Label]] = {}
    untold = 0
    best: dict[Pair, tuple[int, str, bool]] = {}
    for version in _derived(versions):
        rows = Judgment.objects.filter(
            query__domain=domain, passage__version_id__in=version.layers
        ).standing()
        since = shown_labels(rows.exclude(source=Source.ORIGINAL)).order_by("pk")
        columns = ("query_id", "passage_id", "label", "source", "practice")
        given = list(since.values_list(*columns))
        came = origins(version, {row[1] for row in given})
        went = targets(version, {root for roots in came.values() for root in roots})
        for query, passage, label, source, practice in given:
            roots = came[passage]
            if len(roots) != 1:
                untold += label > 0
            elif roots[0] in shared and (label > 0 or went[roots[0]] == [passage]):
                pair, one = (query, roots[0]), (label, source, practice)
                best[pair] = max(best.get(pair, one), one)
    names = known(None, {root for _, root in best})
    for (query, root), (label, source, practice) in best.items():
        labels.setdefault(query, {})[root] = Label(
            names[root][0], root, base=None, given=label, source=source, practice=practice
        )
    return labels, untold


def _derived(versions: Iterable[CorpusVersion]) -> Iterator[CorpusVersion]:
    """Each once, with the derived ones that it was made of."""
    seen: set[int] = set()
    for version in versions:
        at: CorpusVersion | None = version
        while at is not None and at.is_derived and at.pk not in seen:
            seen.add(at.pk)
            yield at
            at = at.parent


@dataclass
class MatchedPool:
    """What two versions share, as loaded; `version` is the one whose lists are read.

    `figures`, as a sheet keeps them: `passages` in the pool; `gold`, the relevant pairs in it, and
    `gold_left_out` outside it, refined; the `lists` read and how many are `short`, with fewer than
    ten passages left of ten or more; labels given `since` for passages of derived versions, and
    the relevant ones of passages made of several, which count nowhere and are `untold`.
    """

    version: CorpusVersion
    other: CorpusVersion
    loaded: CorpusVersion
    shared: set[int]
    figures: dict[str, int]

    @classmethod
    def of(
        cls, benchmark: Benchmark, version: CorpusVersion, other: CorpusVersion
    ) -> "MatchedPool":
        """The pool of two versions of a benchmark; raises Refused where they are one."""
        loaded = CorpusVersion.objects.loaded(benchmark)
        if version == other or loaded is None:
            raise Refused(SAME, field="version")
        kept = [found for each in (version, other) if (found := kept_of(each)) is not None]
        shared = set.intersection(*kept)
        names = ("gold", "gold_left_out", "lists", "short", "since", "untold")
        return cls(
            version, other, loaded, shared, {"passages": len(shared), **dict.fromkeys(names, 0)}
        )

    def records(self, records: Sequence[QueryRecord], domain: Domain) -> list[QueryRecord]:
        """Queries of a domain as loaded, with the labels and aspects that lie in the pool."""
        found = []
        since, untold = given_since((self.version, self.other), domain, self.shared)
        self.figures["untold"] += untold
        for record in records:
            labels = self._labels(record, since.get(record.pk, {}))
            inside = {each.passage for each in labels}
            aspects = tuple(
                replace(
                    each,
                    passages=tuple(pid for pid in each.passages if pid in inside),
                    listed=tuple(pid for pid in each.listed if pid in inside),
                    machine=tuple(one for one in each.machine if one.passage_pk in self.shared),
                )
                for each in record.aspects
            )
            kept = replace(record, labels=labels, aspects=aspects)
            self.figures["gold"] += len(kept.relevant)
            self.figures["gold_left_out"] += len(record.relevant) - len(kept.relevant)
            found.append(kept)
        return found

    def _labels(self, record: QueryRecord, since: Mapping[int, Label]) -> tuple[Label, ...]:
        """Of the passages in the pool; a label of a loaded passage itself counts first."""
        labels = {each.passage_pk: each for each in record.labels if each.passage_pk in self.shared}
        for passage, given in since.items():
            own = labels.get(passage)
            if own is None or own.given is None:
                base, loaded = (own.base, own.loaded) if own else (None, True)
                labels[passage] = replace(given, base=base, loaded=loaded)
                self.figures["since"] += 1
        return tuple(sorted(labels.values(), key=lambda each: each.passage))

    def lists(self, runs: Sequence[RetrievalRun], domain: Domain) -> dict[int, Run | None]:
        """The runs in one domain as lists of loaded passages; None where one ranks no query."""
        columns = ("query__qid", "pids", "scores")
        rows: dict[int, list[Any]] = {}
        for run in runs:
            lists = RankedList.objects.filter(run=run, query__domain=domain)
            rows[run.pk] = list(lists.values_list(*columns))
        ranked = {pid for found in rows.values() for _, pids, _ in found for pid in pids}
        sources = self._sources(domain, ranked)
        return {pk: self._run(found, sources) if found else None for pk, found in rows.items()}

    def _run(self, rows: Sequence[Any], sources: Mapping[str, Sequence[str]]) -> Run:
        lists = {qid: best_of(pids, scores, sources) for qid, pids, scores in rows}
        self.figures["lists"] += len(rows)
        short = sum(len(lists[qid]) < _ENOUGH <= len(pids) for qid, pids, _ in rows)
        self.figures["short"] += short
        return Run.of(lists)

    def _sources(self, domain: Domain, pids: Collection[str]) -> dict[str, list[str]]:
        """The ids of the loaded passages in the pool that each of the version stands for."""
        ordered = sorted(pids)
        keys: dict[str, int] = {}
        inside = Passage.objects.in_version(self.version).filter(domain=domain).order_by()
        for start in range(0, len(ordered), _CHUNK):
            rows = inside.filter(pid__in=ordered[start : start + _CHUNK])
            keys.update(rows.values_list("pid", "pk"))
        came = origins(self.version, set(keys.values()))
        roots = {root for found in came.values() for root in found} & self.shared
        names = known(None, roots)
        return {pid: [names[r][0] for r in came[pk] if r in names] for pid, pk in keys.items()}


def best_of(
    pids: Sequence[str], scores: Sequence[float] | None, sources: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """A list of its sources, each with the best score of what stands for it.

    Without scores the places count down, so that the order holds.
    """
    given = range(0, -len(pids), -1) if scores is None else scores
    best: dict[str, float] = {}
    for pid, score in zip(pids, given, strict=True):
        for source in sources.get(pid, ()):
            best[source] = max(best.get(source, score), score)
    return best
