"""Runs to measure: pairs of a real length in bulk, and a look whether everything was stored."""

import itertools
import os

from corpus.models import (
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
    RankedList,
    RerankRun,
    RetrievalRun,
)
from corpus.reranking.services import start_rerank
from debate.models import Debate, DebateRun, Turn
from debate.runs.services import start_run
from llm import endpoints
from llm.models import Call
from tests.bench.calls_once import PASSAGE
from tests.factories import make_benchmark, make_query

_numbers = itertools.count(1)
_PAIRS_PER_QUERY = 32


def make_run(pairs: int, *, claimed: bool = True) -> DebateRun:
    """A run over new pairs, a few dozen to a query; claimed by this process, or by nobody."""
    number = f"{os.getpid()}-{next(_numbers)}"
    benchmark = make_benchmark(f"bench-{number}")
    (version,), (domain,) = benchmark.versions.all(), benchmark.domains.all()
    queries = [
        make_query(benchmark, str(n), text=f"Why do cells divide ({n})?")
        for n in range(-(-pairs // _PAIRS_PER_QUERY))
    ]
    passages = Passage.objects.bulk_create(
        [
            Passage(version=version, domain=domain, pid=f"p{n}", text=f"{PASSAGE}{number} {n}")
            for n in range(pairs)
        ],
        batch_size=1000,
    )
    pool = Pool.objects.create(benchmark=benchmark, name="bench")
    PoolEntry.objects.bulk_create(
        [
            PoolEntry(pool=pool, query=queries[n // _PAIRS_PER_QUERY], passage=passage)
            for n, passage in enumerate(passages)
        ],
        batch_size=1000,
    )
    return start_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=claimed,
    )


def make_rerank(queries: int) -> RerankRun:
    """A pointwise run, claimed by this process, over 100 passages of each of so many queries."""
    number = f"{os.getpid()}-{next(_numbers)}"
    benchmark = make_benchmark(f"bench-{number}")
    (version,), (domain,) = benchmark.versions.all(), benchmark.domains.all()
    pids = [f"p{n}" for n in range(100)]
    Passage.objects.bulk_create(
        Passage(version=version, domain=domain, pid=pid, text=f"{PASSAGE}{pid}") for pid in pids
    )
    asked = Query.objects.bulk_create(
        Query(domain=domain, qid=str(n), text=f"Why do cells divide ({number}, {n})?")
        for n in range(queries)
    )
    source = RetrievalRun.objects.create(
        benchmark=benchmark, name="source", query_count=queries, depth=100
    )
    scores = [float(n) for n in range(100, 0, -1)]
    RankedList.objects.bulk_create(
        RankedList(run=source, query=query, pids=pids, scores=scores) for query in asked
    )
    return start_rerank(
        benchmark=benchmark,
        source=source,
        method="pointwise",
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=True,
        # What the bare endpoint says holds a score, but is not what a strict reader takes.
        parser="reference",
        # It says the same of every pair.
        skip_probe=True,
    )


def check_rerank(run: RerankRun, calls: int) -> None:
    """Every pair was asked, scored and ranked."""
    run.refresh_from_db()
    asked = Call.objects.filter(account=run.account, status=Call.Status.ANSWERED).count()
    lists = RankedList.objects.filter(run=run.run).values_list("pids", flat=True)
    found = (run.status, asked, sum(map(len, lists)))
    assert found == ("done", calls, calls), found


def check(run: DebateRun, calls: int) -> None:
    """Everything is there: a measurement of less would be worth nothing."""
    run.refresh_from_db()
    pairs = calls // 2
    stored = Debate.objects.filter(run=run, status="agreed", judgment__isnull=False).count()
    turns = Turn.objects.filter(debate__run=run, call__status=Call.Status.ANSWERED).count()
    labels = Judgment.objects.filter(query__domain__benchmark=run.benchmark).count()
    found = (run.status, run.done, stored, turns, labels)
    assert found == ("done", pairs, pairs, 2 * pairs, pairs), found
