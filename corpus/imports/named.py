"""Rows that are kept in memory until a load is published (all but texts), and the row ids of the
passages that they name."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from django.db.models import Q

from corpus.importers.rows import (
    AspectRow,
    JudgmentRow,
    Key,
    LicenceRow,
    Location,
    PairRow,
    QueryRow,
    WordingRow,
)
from corpus.imports.context import Broken, LoadContext, Pace, Tally, known
from corpus.models import Passage

# More would not fit into memory; a load may be split by domain.
MAX_ROWS = 2_000_000
MAX_CHARACTERS = 1_000_000_000
SEVERAL = "documents of several subtopics, which count for each until an expert assigns them to one"


class LoadRows:
    """Queries, gold, aspects and pairs of one load, each once, clashes noted."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.queries: dict[Key, QueryRow] = {}
        # Per domain: (query id, passage id) -> row.
        self.gold: dict[str, dict[Key, JudgmentRow]] = defaultdict(dict)
        self.aspects: list[AspectRow] = []
        self.licences: list[LicenceRow] = []
        self.pairs: dict[tuple[str, str, str], PairRow] = {}
        # By source: (domain, query id) -> row.
        self.wordings: dict[str, dict[Key, WordingRow]] = defaultdict(dict)
        self._rows = self._characters = 0

    def add(
        self, row: QueryRow | JudgmentRow | AspectRow | PairRow | LicenceRow | WordingRow
    ) -> None:
        """Keep one row; raises Broken beyond what memory should hold."""
        self._rows += 1
        if isinstance(row, QueryRow):
            self._characters += _size(row)
        elif isinstance(row, LicenceRow):
            self._characters += len(row.text or "") + len(row.attribution or "")
        elif isinstance(row, WordingRow):
            self._characters += len(row.text)
        if self._rows > MAX_ROWS or self._characters > MAX_CHARACTERS:
            message = "This is too much for one load. Load it in parts, domain by domain."
            self.tally.fail(row.location, message)
            raise Broken
        if isinstance(row, QueryRow):
            self._add_query(row)
        elif isinstance(row, JudgmentRow):
            self._add_judgment(row)
        elif isinstance(row, AspectRow):
            self.aspects.append(row)
        elif isinstance(row, LicenceRow):
            self.licences.append(row)
        elif isinstance(row, WordingRow):
            key, known = (row.domain, row.qid), self.wordings[row.source]
            if known.setdefault(key, row) != row:
                message = f"Query {row.qid} stands earlier in this source in other words."
                self.tally.fail(row.location, message)
        elif (row.domain, row.qid, row.pid) in self.pairs:
            self.tally.odd("pairs repeated", f"{row.domain}-{row.qid}: {row.pid}")
        else:
            self.pairs[row.domain, row.qid, row.pid] = row

    def query_keys(self) -> set[Key]:
        """Every query that the load speaks of."""
        judged = {(row.domain, row.qid) for rows in self.gold.values() for row in rows.values()}
        in_aspects = {(row.domain, row.qid) for row in self.aspects}
        paired = {(domain, qid) for domain, qid, _ in self.pairs}
        return judged | in_aspects | paired | self.queries.keys()

    def gold_passage_keys(self) -> dict[Key, None]:
        """Every passage that gold or an aspect names, in the order of the files."""
        named = {
            (row.domain, row.pid): None for rows in self.gold.values() for row in rows.values()
        }
        return named | {
            (row.domain, pid): None
            for row in self.aspects
            for pid in (*row.supporting_docs, *(one.pid for one in row.machine))
        }

    def join_subtopics(self) -> None:
        """Add the subtopics that judgments name as aspects of their queries, each with the
        documents that are of it alone; and to judgments the subtopics that aspects list, with
        their labels."""
        self._add_labels_of_subtopics()
        of_aspects = {(row.domain, row.qid) for row in self.aspects}
        found: dict[tuple[str, str, str], tuple[Location, list[str]]] = {}
        for judged in (each for rows in self.gold.values() for each in rows.values()):
            if not judged.subtopics or (judged.domain, judged.qid) in of_aspects:
                continue
            names = [name for name in judged.subtopics if name]
            relevant = [name for name in names if judged.subtopics[name] > 0]
            for name in names:
                key = judged.domain, judged.qid, name
                _, alone = found.setdefault(key, (judged.location, []))
                alone += [judged.pid] if relevant == [name] else []
            if len(relevant) > 1:
                self.tally.odd(SEVERAL, f"{judged.domain}-{judged.qid}: {judged.pid}")
        self.aspects += [
            AspectRow(domain, qid, 0, "", 0, tuple(alone), location, subtopic=name)
            for (domain, qid, name), (location, alone) in found.items()
        ]

    def _add_labels_of_subtopics(self) -> None:
        """To judgments what aspects that are subtopics say of them.

        Gold keeps the labels of its subtopics where the aspects that have it are those whose label
        is above 0. Elsewhere an expert assigned it: the aspect stands, with the highest label. What
        is no gold in spite of a label above 0 was taken back, and stays so.
        """
        named: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        labels: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
        at: dict[tuple[str, str, str], Location] = {}
        for row in self.aspects:
            for pid in (*row.supporting_docs, *row.subtopic_docs):
                named[row.domain, row.qid, pid].add(row.subtopic)
            for pid, label in row.judged.items():
                labels[row.domain, row.qid, pid][row.subtopic] = label
                at[row.domain, row.qid, pid] = row.location.at("subtopic_judged")
            for pid in set(row.subtopic_docs).difference(row.judged):
                if judged := self.gold[row.domain].get((row.qid, pid)):
                    labels[row.domain, row.qid, pid][row.subtopic] = judged.label
        for (domain, qid, pid), given in labels.items():
            gold, label = self.gold[domain], max(given.values())
            judged = gold.get((qid, pid))
            if judged is None or judged.label <= 0:
                if label <= 0:
                    place = at[domain, qid, pid]
                    gold[qid, pid] = JudgmentRow(domain, qid, pid, label, place, subtopics=given)
            elif label > 0:
                relevant = {name for name, value in given.items() if value > 0}
                kept = given if relevant == named[domain, qid, pid] else None
                gold[qid, pid] = replace(judged, label=label, subtopics=kept)

    def _add_query(self, row: QueryRow) -> None:
        before = self.queries.setdefault((row.domain, row.qid), row)
        if before is row:
            return
        if before == row:
            self.tally.odd("queries repeated", f"{row.domain}-{row.qid}")
        else:
            message = f"Query {row.qid} stands earlier in this load with other content."
            self.tally.fail(row.location, message)

    def _add_judgment(self, row: JudgmentRow) -> None:
        before = self.gold[row.domain].setdefault((row.qid, row.pid), row)
        if before is row:
            return
        if before == row:
            self.tally.odd("judgments repeated", f"{row.domain}-{row.qid}: {row.pid}")
        else:
            what = f"the label {before.label}" if before.label != row.label else "other subtopics"
            message = f"{row.pid} has {what} for this query earlier in this load."
            self.tally.fail(row.location, message)


def _size(row: QueryRow) -> int:
    """About how many characters a query brings."""
    texts = (row.text, row.description, row.narrative, row.gold_answer, row.reasoning)
    lists = (row.answers, row.gold_ids_long, row.excluded_ids)
    community = sum(len(each["text"]) for each in row.community_answers or ())
    listed = sum(len(each) for values in lists for each in values or ())
    return sum(len(each or "") for each in texts) + listed + community


def resolve_passages(context: LoadContext, gathered: LoadRows, pace: Pace) -> None:
    """Fill `context.passages`; gold without text becomes a passage without it, in our version."""
    named = gathered.gold_passage_keys()
    paired = {(row.domain, row.pid) for row in gathered.pairs.values()}
    loaded = _look_up(context, named.keys() | paired)
    missing = [key for key in named if key not in context.passages]
    if missing and not context.tally.problems:
        with pace.writing(context, 0):
            version = context.own_version().pk
            domains = {name: context.domain(name) for name in {domain for domain, _ in missing}}
        values = ((version, domains[domain], pid) for domain, pid in missing)
        pace.write(context, Passage, ("version_id", "domain_id", "pid"), values)
        _look_up(context, missing)
    without = [key for key in named if key not in loaded]
    context.tally.add("passages", added=len(missing), present=len(without) - len(missing))
    for domain, pid in without:
        context.tally.odd("gold passages without text", f"{domain}: {pid}")


def _look_up(context: LoadContext, keys: Iterable[Key]) -> set[Key]:
    """Note the row ids of these passages; return the keys of those whose text is loaded."""
    here = Passage.objects.filter(version_id__in=context.layers)
    loaded = set()
    for domain, found in known(context, here, "pid", keys):
        rows = found.annotate(loaded=Q(text__isnull=False)).values_list("pid", "pk", "loaded")
        context.passages.update({(domain, pid): pk for pid, pk, _ in rows})
        loaded |= {(domain, pid) for pid, _, has_text in rows if has_text}
    return loaded
