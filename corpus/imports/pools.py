"""The pool of pairs that a load brings."""

import hashlib
import json

from django.db.models import QuerySet

from corpus.importers.rows import PairRow
from corpus.imports.context import ConcurrentLoad, LoadContext, Pace
from corpus.imports.named import LoadRows
from corpus.lists import unused_name
from corpus.models import Pool, PoolEntry

_COLUMNS = ("pool_id", "query_id", "passage_id", "systems")


def stage_pool(context: LoadContext, gathered: LoadRows, pace: Pace) -> Pool | None:
    """Write a pool of the load's pairs unseen, unless one of exactly these pairs is here."""
    rows = [row for row in gathered.pairs.values() if _is_known(context, row)]
    if not rows or context.tally.problems:
        return None
    pairs = sorted((row.domain, row.qid, row.pid) for row in rows)
    digest = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
    if _like_it(context, digest).exists():
        context.tally.add("pairs", present=len(rows))
        return None
    with pace.writing(context, 0):
        pool = Pool.everything.create(
            benchmark=context.benchmark,
            name="loading",
            provenance={"import": context.run.pk, "format": context.run.format, "digest": digest},
            is_ready=False,
        )
        context.stage("pools", pool.pk)
    values = (
        (pool.pk, context.queries[row.domain, row.qid], context.passages[row.domain, row.pid], "[]")
        for row in rows
    )
    pace.write(context, PoolEntry, _COLUMNS, values)
    context.tally.add("pairs", added=len(rows))
    return pool


def show_pool(context: LoadContext, pool: Pool | None) -> None:
    """Part of publishing; raises Overtaken if another load brought the same pairs."""
    if pool is None:
        return
    if _like_it(context, pool.provenance["digest"]).exists():
        raise ConcurrentLoad
    taken = Pool.objects.filter(benchmark=context.benchmark).values_list("name", flat=True)
    name = unused_name(f"{context.run.label[:100]} pairs", taken)
    Pool.everything.filter(pk=pool.pk).update(name=name, is_ready=True)


def _like_it(context: LoadContext, digest: str) -> QuerySet[Pool]:
    return Pool.objects.filter(benchmark=context.benchmark, provenance__digest=digest)


def _is_known(context: LoadContext, row: PairRow) -> bool:
    query, passage = (row.domain, row.qid), (row.domain, row.pid)
    if query not in context.queries:
        context.tally.fail(row.location, f"There is no query {row.qid} in {row.domain}.")
    elif passage not in context.passages:
        context.tally.fail(row.location, f"There is no passage {row.pid} in {row.domain}.")
    return query in context.queries and passage in context.passages
