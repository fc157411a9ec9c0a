"""Drawing the pairs of a reference panel: random queries, one random pooled passage of each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from django.db.models import Exists, OuterRef, QuerySet

from annotate.models import CaseKind, EscalationCase
from corpus.models import Benchmark, Domain, Judgment, Pool, PoolEntry, Query, Source
from kit.stats.sampling import draw

_CHUNK = 500


@dataclass(frozen=True)
class Pair:
    """One drawn pair; `key` names it the same wherever the benchmark is loaded."""

    query: Query
    passage: int
    pool: int
    key: tuple[str, str]


@dataclass(frozen=True)
class Drawn:
    """The draw of one domain; `queries` have a pooled passage that could be drawn."""

    domain: Domain
    queries: int = 0
    pairs: Sequence[Pair] = field(default_factory=tuple)


def draw_pairs(
    benchmark: Benchmark, *, pool: Pool | None, per_domain: int, seed: int
) -> list[Drawn]:
    """The draw of every domain with pools, by name. The places are hashes of the seed and of the
    ids that came with the benchmark, so whoever has both can check the draw."""
    entries = _eligible(benchmark, pool)
    found = []
    for domain in benchmark.domains.ready():
        pooled = Query.objects.filter(domain=domain, pk__in=entries.values("query"))
        rows = pooled.values_list("pk", "qid", "answers")
        keys = {qid: pk for pk, qid, answers in rows if any(str(a).strip() for a in answers)}
        chosen = draw({0: sorted(keys)}, per_domain, seed)
        pairs = _passages(entries, [keys[qid] for qid in chosen], seed)
        found.append(Drawn(domain, len(keys), pairs))
    return [each for each in found if each.queries]


def _eligible(benchmark: Benchmark, pool: Pool | None) -> QuerySet[PoolEntry]:
    """Pooled pairs with their text that neither an expert nor a panel was asked about."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    experts = Judgment.objects.standing().filter(source=Source.EXPERT, **pair)
    drawn = EscalationCase.objects.filter(kind=CaseKind.REFERENCE, **pair)
    pools = Pool.objects.filter(benchmark=benchmark)
    if pool is not None:
        pools = pools.filter(pk=pool.pk)
    entries = PoolEntry.objects.filter(pool__in=pools, passage__text__isnull=False)
    return entries.exclude(Exists(experts)).exclude(Exists(drawn))


def _passages(entries: QuerySet[PoolEntry], queries: Sequence[int], seed: int) -> list[Pair]:
    """One passage for each of these queries, in their order."""
    offered: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    keys = iter(queries)
    while group := list(islice(keys, _CHUNK)):
        rows = entries.filter(query__in=group).order_by("-pk")  # of two pools the older names it
        columns = ("query_id", "passage__pid", "passage_id", "pool_id")
        for owner, pid, *place in rows.values_list(*columns):
            offered[owner][pid] = place[0], place[1]
    rows_of = Query.objects.select_related("domain__benchmark").in_bulk(queries)
    found = []
    for pk in queries:
        query = rows_of[pk]
        # Beside its query: one passage of many pools must not be drawn for all of them at once.
        (key,) = draw({0: [(query.qid, pid) for pid in sorted(offered[pk])]}, 1, seed)
        passage, pool = offered[pk][key[1]]
        found.append(Pair(query, passage, pool, key))
    return found
