"""Filling pools with the pairs of retrieval runs, without those whose passages are gold already
(docs/protocol.md 2.1), or with what may support the aspects that no run found gold of (X06).
builds.py runs it.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from corpus.judgments.models import PEOPLE
from corpus.lists import unused_name
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
    RankedList,
    RetrievalRun,
)
from corpus.pooling import PoolCounts, Ranking, SystemCounts, SystemRank, duplicates, top, union
from corpus.texts.search import best_passages
from corpus.versions.effective import effective_labels
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from kit import audit
from kit.database.bulk import copy_rows
from kit.errors import Refused


def gold_of(queries: Sequence[Query], version: CorpusVersion | None) -> dict[int, set[int]]:
    """Passages that count as relevant already, by query."""
    found: dict[int, set[int]] = {}
    if version is not None and version.is_derived:
        # Labels inherited and given there.
        for each in effective_labels(version, about=Q(query__in=queries)).pairs.values():
            given = each.given
            if (each.base or 0) > 0 or (given and given.label > 0 and given.source in PEOPLE):
                found.setdefault(each.query, set()).add(each.passage)
        return found
    relevant = Judgment.objects.filter(query__in=queries, label__gt=0)
    people = relevant.standing().filter(source__in=PEOPLE)
    for rows in (relevant.original(), people):
        for query, passage in rows.values_list("query_id", "passage_id"):
            found.setdefault(query, set()).add(passage)
    return found


def reference_labels(pool: Pool) -> Mapping[tuple[int, int], int]:
    """1 or 0 by (query, passage) key, for the pairs of a pool that people have judged.

    A standing label of a person goes before the imported gold of the domain's current version;
    a graded label is relevant from 1 on. Pairs that neither knows are missing: that the gold
    does not name a passage is no judgment of it.
    """
    queries = pool.entries.values("query_id")
    labels = Judgment.objects.filter(query_id__in=queries)
    people = labels.standing().filter(source__in=PEOPLE, practice=False)
    known: dict[tuple[int, int], int] = {}
    for rows in (labels.original(), people):
        for query, passage, label in rows.values_list("query_id", "passage_id", "label"):
            known[query, passage] = int(label > 0)
    pairs = pool.entries.values_list("query_id", "passage_id")
    return {pair: known[pair] for pair in pairs.iterator() if pair in known}


@dataclass(frozen=True)
class Gap:
    """An aspect of a query, by its number and text, whose gold no run found.

    `taken` are the passages of the query that nobody needs to ask about.
    """

    query: int
    k: int
    text: str
    taken: Collection[int]


# From a corpus version, queries and the passages that runs found by query to the gaps among them.
Gaps = Callable[[CorpusVersion | None, Sequence[Query], Mapping[int, Collection[int]]], list[Gap]]
_gaps: list[Gaps] = []


def tell_gaps(find: Gaps) -> None:
    """Let pools of aspects ask where gold is missing; a room further left knows it."""
    _gaps.append(find)


MAX_DEPTH = 1000
KIND = "pooling"
OF_ASPECTS = "pooling of aspects"
# Not a run: the best passages for an aspect's own words.
BY_TEXT, BY_TEXT_NAME = 0, "aspect text (BM25)"
_QUERIES = 50
_IDS = 100_000
_DROPPED = 500
_COLUMNS = ("pool_id", "query_id", "passage_id", "systems", "aspect")


def check_choice(benchmark: Benchmark, runs: Sequence[RetrievalRun], depth: int, name: str) -> None:
    """Raises Refused for no runs, runs of others or of several corpus versions, a wrong depth, and
    a name that is taken."""
    if not runs:
        raise Refused("Choose at least one retrieval run.", field="runs")
    if any(run.benchmark_id != benchmark.pk for run in runs):
        raise Refused("A run belongs to another benchmark.", field="runs")
    if len({run.corpus_version_id for run in runs}) > 1:
        message = "These runs rank different corpus versions; a pool is of one."
        raise Refused(message, field="runs")
    if not 1 <= depth <= MAX_DEPTH:
        raise Refused(f"The depth is a number from 1 to {MAX_DEPTH}.", field="depth")
    if Pool.objects.filter(benchmark=benchmark, name=name[:120]).exists():
        raise Refused(f"There is a pool named {name[:120]!r} already.", field="name")


def free_name(pool: Pool, runs: int, depth: int) -> str:
    """A name for a pool that nobody named."""
    taken = Pool.objects.filter(benchmark=pool.benchmark).values_list("name", flat=True)
    what = "Aspects without gold" if pool.of_aspects else "Union"
    return unused_name(f"{what} of {runs} runs, top {depth}", taken)[:120]


def fill(
    pool: Pool, runs: Sequence[RetrievalRun], depth: int, beat: Callable[[int, int], None]
) -> PoolCounts:
    """Write the pool's pairs, a few queries to a transaction; what became of everything ranked.

    `beat(done, total)`, in queries, opens each of these transactions; what it raises ends the
    filling. Raises Refused, with its place, for a list that cannot be read and for a pool that
    would be empty.
    """
    counts = PoolCounts(systems={run.pk: SystemCounts(run.pk, run.name) for run in runs})
    if pool.of_aspects:
        counts.systems[BY_TEXT] = SystemCounts(BY_TEXT, BY_TEXT_NAME)
    ranked = RankedList.objects.filter(run__in=runs).values("query_id")
    queries = Query.objects.in_benchmark(pool.benchmark)
    requested = list(queries.filter(pk__in=ranked).order_by("pk").values_list("pk", flat=True))
    size = _group_size(runs)
    for start in range(0, len(requested), size):
        keys = requested[start : start + size]
        group = list(queries.filter(pk__in=keys).order_by("pk").select_related("domain"))
        add = _add_aspects if pool.of_aspects else _add
        # That a passage supports an aspect can be asked without an answer.
        eligible = [query for query in group if pool.of_aspects or _has_answers(query)]
        counts.skipped_no_answer += len(group) - len(eligible)
        with transaction.atomic():
            beat(start + len(keys), len(requested))
            if eligible:
                add(pool, eligible, runs, depth, counts)
    if not counts.pairs and pool.of_aspects:
        raise Refused(
            "Nothing is left for this pool: every aspect has gold among the first passages of a "
            "run, or all that is near it was judged already.",
            field="runs",
        )
    if not counts.pairs:
        raise Refused("Nothing is left for this pool: " + _why_empty(counts), field="runs")
    return counts


def publish(pool: Pool, counts: PoolCounts, depth: int, name: str, actor: User | None) -> None:
    """Show a filled pool under its name; in the caller's transaction. Raises Refused."""
    data = asdict(counts) | {"systems": [asdict(each) for each in counts.systems.values()]}
    if not pool.of_aspects:
        del data["aspects"]
    pool.provenance = {"kind": OF_ASPECTS if pool.of_aspects else KIND, "depth": depth, **data}
    pool.name, pool.is_ready = name, True
    try:
        with transaction.atomic():
            pool.save(update_fields=["name", "provenance", "is_ready"])
    except IntegrityError:
        raise Refused(f"There is a pool named {name!r} already.", field="name") from None
    brief = {"depth": depth, "pairs": counts.pairs, "runs": list(counts.systems)}
    scope = pool.benchmark.slug
    audit.record(actor=actor, verb="build pool", target=pool, scope=scope, data=brief)


def drop_unready(pool: Pool) -> None:
    """Remove a pool that was never shown, in short transactions."""
    entries = PoolEntry.objects.filter(pool=pool, pool__is_ready=False)
    # From the end: a twin goes before the pair it is linked to.
    while keys := list(entries.order_by("-pk").values_list("pk", flat=True)[:_DROPPED]):
        PoolEntry.objects.filter(pk__in=keys).delete()
    Pool.everything.filter(pk=pool.pk, is_ready=False).delete()


def _group_size(runs: Sequence[RetrievalRun]) -> int:
    """Queries at a time, so that their lists take some megabytes, however deep they are."""
    return max(1, min(_QUERIES, _IDS // max(1, sum(run.depth for run in runs))))


def _has_answers(query: Query) -> bool:
    return any(str(answer).strip() for answer in query.answers)


def _add(
    pool: Pool,
    queries: Sequence[Query],
    runs: Sequence[RetrievalRun],
    depth: int,
    counts: PoolCounts,
) -> None:
    """One group of queries: read everything, then write their pairs."""
    lists = _lists(queries, runs)
    version = stored(pool.benchmark, pool.corpus_version_id)
    gold = gold_of(queries, version)
    excluded = excluded_in(version, queries) if version else {}
    for query in queries:
        rankings = lists.get(query.pk, {})
        places = _union(query, rankings, depth, counts, excluded.get(query.pk, set()))
        _count_lists(rankings, runs, depth, counts)
        passages = _passages(version, query, list(places))
        counts.unknown += len(places) - len(passages)
        kept = [each for each in passages if each.pk not in gold.get(query.pk, ())]
        counts.gold_removed += len(passages) - len(kept)
        rows = [
            (pool.pk, query.pk, each.pk, json.dumps(_systems(places[each.pid], counts)), None)
            for each in kept
        ]
        copy_rows(PoolEntry, _COLUMNS, rows)
        _count_pairs(kept, places, counts)
        counts.twins += _link_duplicates(pool, query, kept)


def _add_aspects(
    pool: Pool,
    queries: Sequence[Query],
    runs: Sequence[RetrievalRun],
    depth: int,
    counts: PoolCounts,
) -> None:
    """One group of queries: what the runs and the aspects' own words find for aspects without gold.

    All aspects of a passage stand together, so that what debates of them ask begins alike.
    """
    lists = _lists(queries, runs)
    version = stored(pool.benchmark, pool.corpus_version_id)
    excluded = excluded_in(version, queries) if version else {}
    places: dict[int, dict[str, list[SystemRank]]] = {}
    ranked: dict[int, list[Passage]] = {}
    for query in queries:
        rankings, out = lists.get(query.pk, {}), excluded.get(query.pk, set())
        places[query.pk] = _union(query, rankings, depth, counts, out)
        ranked[query.pk] = _passages(version, query, list(places[query.pk]))
        counts.unknown += len(places[query.pk]) - len(ranked[query.pk])
        _count_lists(rankings, runs, depth, counts)
    found = {query: {each.pk for each in passages} for query, passages in ranked.items()}
    gaps = [gap for find in _gaps for gap in find(version, queries, found)]
    counts.aspects += len(gaps)
    rows: list[tuple[Any, ...]] = []
    for query in queries:
        by_passage: dict[int, dict[int, list[SystemRank]]] = {}
        for gap in (each for each in gaps if each.query == query.pk):
            for each in ranked[query.pk]:
                by_passage.setdefault(each.pk, {})[gap.k] = [*places[query.pk][each.pid]]
            near = best_passages(gap.text, version=version, domain=query.domain, most=depth)
            out = excluded.get(query.pk, set())
            for rank, hit in enumerate((h for h in near if h.passage.pid not in out), start=1):
                place = SystemRank(str(BY_TEXT), rank, hit.score)
                by_passage.setdefault(hit.passage.pk, {}).setdefault(gap.k, []).append(place)
            for passage in gap.taken:
                counts.gold_removed += by_passage.get(passage, {}).pop(gap.k, None) is not None
        rows += _aspect_rows(pool, query, by_passage, counts)
    copy_rows(PoolEntry, _COLUMNS, rows)


def _aspect_rows(
    pool: Pool,
    query: Query,
    by_passage: Mapping[int, Mapping[int, list[SystemRank]]],
    counts: PoolCounts,
) -> Iterator[tuple[Any, ...]]:
    for passage, aspects in by_passage.items():
        for k, places in sorted(aspects.items()):
            counts.pairs += 1
            for place in places:
                system = counts.systems[int(place.system)]
                system.pairs += 1
                system.alone += len(places) == 1
            yield pool.pk, query.pk, passage, json.dumps(_systems(places, counts)), k


def _union(
    query: Query,
    rankings: dict[int, Ranking],
    depth: int,
    counts: PoolCounts,
    excluded: set[str],
) -> dict[str, list[SystemRank]]:
    """Raises Refused with the place of a list whose scores are not as many as its ids."""
    for run, ranking in rankings.items():
        if ranking.scores is not None and len(ranking.scores) != len(ranking.pids):
            raise Refused(
                f"Retrieval run {counts.systems[run].system}, query {query}: "
                f"{len(ranking.pids)} ids and {len(ranking.scores)} scores. Import it again.",
                field="runs",
            )
    named = {str(run): ranking for run, ranking in rankings.items()}
    return union(named, depth, excluded=excluded)


def _lists(queries: Sequence[Query], runs: Sequence[RetrievalRun]) -> dict[int, dict[int, Ranking]]:
    """By query and run, the runs in the order they were chosen."""
    rows = RankedList.objects.filter(run__in=runs, query__in=queries)
    found = {(row.query_id, row.run_id): Ranking(row.pids, row.scores) for row in rows}
    return {
        query.pk: {run.pk: found[query.pk, run.pk] for run in runs if (query.pk, run.pk) in found}
        for query in queries
    }


def _passages(version: CorpusVersion | None, query: Query, pids: list[str]) -> list[Passage]:
    """The passages that the corpus holds, in the order of the ids."""
    rows = Passage.objects.in_version(version).filter(domain_id=query.domain_id, pid__in=pids)
    # Sorted here: asked for an order, SQLite walks the whole corpus in it.
    ordered = sorted(rows.only("pid", "text").order_by(), key=lambda each: each.pk)
    found = {each.pid: each for each in ordered}
    return [found[pid] for pid in pids if pid in found]


def _systems(places: Sequence[SystemRank], counts: PoolCounts) -> list[dict[str, Any]]:
    """Places as pool entries keep them: system, rank from 1, score or null."""
    names = {str(run): each.system for run, each in counts.systems.items()}
    return [
        {"system": names[each.system], "rank": each.rank, "score": each.score} for each in places
    ]


def _count_lists(
    rankings: dict[int, Ranking], runs: Sequence[RetrievalRun], depth: int, counts: PoolCounts
) -> None:
    counts.queries += 1
    for run in runs:
        system = counts.systems[run.pk]
        if run.pk not in rankings:
            system.absent += 1
        elif len(top(rankings[run.pk], depth)) < depth:
            system.short += 1


def _count_pairs(
    kept: Sequence[Passage], places: dict[str, list[SystemRank]], counts: PoolCounts
) -> None:
    counts.pairs += len(kept)
    counts.without_text += sum(each.text is None for each in kept)
    for each in kept:
        for place in places[each.pid]:
            system = counts.systems[int(place.system)]
            system.pairs += 1
            system.alone += len(places[each.pid]) == 1


def _link_duplicates(pool: Pool, query: Query, kept: Sequence[Passage]) -> int:
    same = duplicates((each.pk, each.text) for each in kept)
    if not same:
        return 0
    entries = PoolEntry.objects.filter(pool=pool, query=query)
    requested = Q(passage__in=same.keys()) | Q(passage__in=set(same.values()))
    rows = {row.passage_id: row for row in entries.filter(requested)}
    for later, first in same.items():
        rows[later].same_text_as = rows[first]
    PoolEntry.objects.bulk_update([rows[later] for later in same], ["same_text_as"])
    return len(same)


def _why_empty(counts: PoolCounts) -> str:
    reasons = {
        "queries without answers": counts.skipped_no_answer,
        "passages that are gold already": counts.gold_removed,
        "ids that the corpus does not hold": counts.unknown,
    }
    found = [f"{number} {what}" for what, number in reasons.items() if number]
    why = (", ".join(found) or "the runs rank nothing") + "."
    if counts.skipped_no_answer:
        why += " Short answers are written on a query's page, or loaded by load_answers."
    return why
