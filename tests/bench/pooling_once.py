"""The data of a pool, or its build, in a process of its own: {data QUERIES | build DEPTH}."""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from django.db import transaction  # noqa: E402

from corpus.models import Benchmark, Passage, Query, RankedList, RetrievalRun  # noqa: E402
from corpus.pools.builds import build_pool  # noqa: E402
from kit.database.bulk import analyze, copy_rows  # noqa: E402
from tests.bench.processor import own_peak  # noqa: E402
from tests.factories import make_benchmark  # noqa: E402

SYSTEMS, RANKED = 25, 20
# Of so many candidates 25 random tens have a union of 81, which is DREAM's pairs a query.
CANDIDATES = 85
TEXT = "lorem ipsum dolor sit amet " * 40


def make(queries: int) -> None:
    """Queries, their candidates, and what 25 systems make of them."""
    benchmark = make_benchmark("bench")
    (version,), (domain,) = benchmark.versions.all(), benchmark.domains.all()
    names = [f"q{number:05}" for number in range(queries)]
    rows = [
        Query(domain=domain, qid=name, text=f"What is {name}?", answers=["It is so."])
        for name in names
    ]
    Query.objects.bulk_create(rows, batch_size=1000)
    keys = dict(Query.objects.values_list("qid", "pk"))
    runs = [
        RetrievalRun.objects.create(
            benchmark=benchmark,
            name=f"system-{number:02}",
            digest=str(number),
            query_count=queries,
            depth=RANKED,
        )
        for number in range(SYSTEMS)
    ]
    with transaction.atomic():
        columns = ("version_id", "domain_id", "pid", "text")
        copy_rows(Passage, columns, _passages(version.pk, domain.pk, names))
        lists = ("run_id", "query_id", "pids", "scores")
        copy_rows(RankedList, lists, _lists([run.pk for run in runs], keys))
    analyze(Passage, RankedList)  # as an import does


def _passages(version: int, domain: int, names: list[str]) -> Iterator[tuple[Any, ...]]:
    for name in names:
        for place in range(CANDIDATES):
            yield version, domain, f"{name}/{place}", f"{name} {place} {TEXT}"


def _lists(runs: list[int], keys: dict[str, int]) -> Iterator[tuple[Any, ...]]:
    rng = random.Random(7)
    scores = json.dumps([1 - place / 100 for place in range(RANKED)])
    for run in runs:
        for name, key in keys.items():
            chosen = rng.sample(range(CANDIDATES), RANKED)
            yield run, key, json.dumps([f"{name}/{place}" for place in chosen]), scores


def build(depth: int) -> None:
    """Print one line of JSON."""
    benchmark = Benchmark.objects.get()
    runs = list(RetrievalRun.objects.all())
    before, begun = own_peak(), time.perf_counter()
    pool = build_pool(benchmark=benchmark, runs=runs, depth=depth, actor=None)
    wall = time.perf_counter() - begun
    found = {"wall": wall, "pairs": pool.entries.count(), "peak": own_peak(), "before": before}
    print(json.dumps(found))


if __name__ == "__main__":
    {"data": make, "build": build}[sys.argv[1]](int(sys.argv[2]))
