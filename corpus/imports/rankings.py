"""Retrieval runs: rankings written list by list into a run that nobody sees until it is whole.

A run has one name in its corpus version: the tag in its file, else the name of what was given. The
same rankings again change nothing; others under a taken name are a problem.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from corpus.importers.files import name_of, stem_of
from corpus.importers.rows import Key, RunRow
from corpus.imports.context import Broken, ConcurrentLoad, LoadContext, Pace, known
from corpus.models import Passage, Query, RankedList, RetrievalRun

UNKNOWN_QUERIES = "rankings of queries that are not here, left out"
UNKNOWN_PASSAGES = "rankings with passages that the corpus does not hold"
# What waits to be written: rankings, and characters of their ids.
_MAX_LISTS, _MAX_CHARACTERS = 500, 8_000_000
# Runs of one load: more are no runs but lines that each have a tag of their own.
_MAX_RUNS = 1000
_COLUMNS = ("run_id", "query_id", "pids", "scores")


@dataclass
class Draft:
    """One run on its way in; `stored` is unseen, `rival` the run that has its name already."""

    name: str
    first: RunRow
    stored: RetrievalRun | None = None
    rival: RetrievalRun | None = None
    lists: dict[Key, str] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    depth: int = 0
    unknown: int = 0

    @property
    def digest(self) -> str:
        """sha256 over all rankings in the order of domain and query: same run, same digest."""
        return hashlib.sha256(json.dumps(sorted(self.lists.items())).encode()).hexdigest()


class RunLoader:
    """Takes rankings as they come. `path` is what was given: it names runs that have no tag."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self.path = Path(context.run.path)
        self._drafts: dict[str, Draft] = {}
        self._waiting: list[tuple[Draft, RunRow]] = []
        self._characters = 0
        self._pace = Pace()

    def add(self, row: RunRow) -> None:
        """Take one ranking."""
        name = row.tag or (name_of(self.path) if self.path.is_dir() else stem_of(self.path))[:200]
        if name not in self._drafts:
            if len(self._drafts) >= _MAX_RUNS:
                message = f"More than {_MAX_RUNS:,} runs: each line seems to have its own tag."
                self.context.tally.fail(row.location.at("tag"), message)
                raise Broken
            self._drafts[name] = Draft(name=name, first=row, rival=self._named(name))
        self._waiting.append((self._drafts[name], row))
        self._characters += sum(map(len, row.pids)) + len(row.pids)
        if len(self._waiting) >= _MAX_LISTS or self._characters >= _MAX_CHARACTERS:
            self._flush()

    def end(self) -> None:
        """Every ranking was given: write the last, and settle what each run is."""
        self._flush()
        for draft in self._drafts.values():
            if not draft.lists:
                self.context.tally.fail(draft.first.location.at(""), self._nothing_known(draft))
            elif draft.rival is not None:
                self._compare(draft, draft.rival)
            elif not self.context.tally.problems:
                self._settle(draft)

    def show(self) -> None:
        """Part of publishing; raises Overtaken if a name was taken meanwhile."""
        for draft in self._drafts.values():
            if draft.stored is not None:
                if self._named(draft.name) is not None:
                    raise ConcurrentLoad
                RetrievalRun.everything.filter(pk=draft.stored.pk).update(is_ready=True)

    def _named(self, name: str) -> RetrievalRun | None:
        key = self.context.run.corpus_version_id
        rows = RetrievalRun.objects.filter(benchmark=self.context.benchmark, corpus_version=key)
        return rows.filter(name=name).first()

    def _flush(self) -> None:
        rows, self._waiting, self._characters = self._waiting, [], 0
        named = {(row.domain, row.qid) for _, row in rows}
        queries = {
            (domain, qid): pk
            for domain, found in known(self.context, Query.objects.all(), "qid", named)
            for qid, pk in found.values_list("qid", "pk")
        }
        rows = [(draft, row) for draft, row in rows if self._takes(draft, row, queries)]
        self._count_unknown(rows)
        new = [(draft, row) for draft, row in rows if draft.rival is None]
        if not new or self.context.tally.problems:
            return
        self._make({draft.name: draft for draft, _ in new})
        values = [
            (
                _pk(draft),
                queries[row.domain, row.qid],
                json.dumps(row.pids),
                None if row.scores is None else json.dumps(row.scores),
            )
            for draft, row in new
        ]
        self._pace.write(self.context, RankedList, _COLUMNS, values)

    def _takes(self, draft: Draft, row: RunRow, queries: dict[Key, int]) -> bool:
        key = row.domain, row.qid
        if key not in queries:
            self.context.tally.odd(UNKNOWN_QUERIES, f"{row.domain}-{row.qid}")
            return False
        if key in draft.lists:
            message = f"Query {row.qid} of {row.domain} is ranked twice in the run {draft.name}."
            self.context.tally.fail(row.location, message)
            return False
        ranking = json.dumps([row.pids, row.scores]).encode()
        draft.lists[key] = hashlib.sha256(ranking).hexdigest()
        draft.files[row.location.file] = None
        draft.depth = max(draft.depth, len(row.pids))
        return True

    def _count_unknown(self, rows: list[tuple[Draft, RunRow]]) -> None:
        """Ranked ids outside the corpus; they stay in their lists (docs/protocol.md 9)."""
        ranked = Passage.objects.filter(version_id__in=self.context.ranked_layers)
        named = {(row.domain, pid) for _, row in rows for pid in row.pids}
        here = {
            (domain, pid)
            for domain, found in known(self.context, ranked, "pid", named)
            for pid in found.values_list("pid", flat=True)
        }
        for draft, row in rows:
            unknown = sum((row.domain, pid) not in here for pid in row.pids)
            draft.unknown += unknown
            if unknown:
                example = f"{row.domain}-{row.qid}: {unknown:,} of {len(row.pids):,}"
                self.context.tally.odd(UNKNOWN_PASSAGES, example)

    def _make(self, drafts: dict[str, Draft]) -> None:
        for draft in drafts.values():
            if draft.stored is None:
                with self._pace.writing(self.context, 0):
                    draft.stored = RetrievalRun.everything.create(
                        benchmark=self.context.benchmark,
                        name=draft.name,
                        corpus_version_id=self.context.run.corpus_version_id,
                        is_ready=False,
                    )
                    self.context.stage("runs", draft.stored.pk)

    def _compare(self, draft: Draft, rival: RetrievalRun) -> None:
        if rival.digest != draft.digest:
            message = (
                f"A run named {draft.name} is here already with other rankings. Runs are never "
                "edited: give all files of a run at once, and a changed run another tag."
            )
            self.context.tally.fail(draft.first.location.at(""), message)
            return
        self.context.tally.add("rankings", present=len(draft.lists))
        self._note(draft, "here already")

    def _settle(self, draft: Draft) -> None:
        """What the whole run is, known once its last ranking was read."""
        run = self.context.run
        provenance = {
            "import": run.pk,
            "format": run.format,
            "label": run.label,
            "tag": draft.first.tag,
            "files": list(draft.files)[:100],
        }
        with self._pace.writing(self.context, 0):
            RetrievalRun.everything.filter(pk=_pk(draft)).update(
                digest=draft.digest,
                query_count=len(draft.lists),
                depth=draft.depth,
                unknown_count=draft.unknown,
                provenance=provenance,
            )
        self.context.tally.add("rankings", added=len(draft.lists))
        self._note(draft, "new")

    def _note(self, draft: Draft, state: str) -> None:
        self.context.tally.runs.append(
            {
                "name": draft.name,
                "state": state,
                "queries": len(draft.lists),
                "depth": draft.depth,
                "unknown": draft.unknown,
            }
        )

    def _nothing_known(self, draft: Draft) -> str:
        domain = draft.first.domain
        if domain in self.context.domains:
            return f"None of the queries of this run is a query of {domain}."
        return no_domain(self.context, domain)


def no_domain(context: LoadContext, domain: str) -> str:
    """What to say of a run of a domain that is not here."""
    ready = context.benchmark.domains.filter(is_ready=True)
    names = ", ".join(ready.values_list("name", flat=True)[:20]) or "none yet"
    return f"There is no domain {domain}. Say which one the run is of; here are: {names}."


def _pk(draft: Draft) -> int:
    assert draft.stored is not None
    return draft.stored.pk
