"""The benchmark of search agents in a process of its own (agents.py), on a scratch database."""

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("ASSAY_PLAIN_STATIC", "1")  # nothing is collected here
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db.models import QuerySet  # noqa: E402
from django.test import Client  # noqa: E402

from annotate.models import Aspect  # noqa: E402
from corpus.computing.searching import Payer, Searcher  # noqa: E402
from corpus.computing.services import run_computation, start  # noqa: E402
from corpus.models import (  # noqa: E402
    Benchmark,
    CorpusVersion,
    Domain,
    Membership,
    Passage,
    Query,
    RetrievalRun,
)
from evaluation.agents.exchange import export_traces, import_traces  # noqa: E402
from evaluation.agents.models import AgentRun  # noqa: E402
from evaluation.agents.services import start_agent  # noqa: E402
from evaluation.tasks import AGENTS  # noqa: E402
from llm import endpoints  # noqa: E402
from llm.models import Call  # noqa: E402
from tests.bench.agents import AT_ONCE, LATENCY_MS  # noqa: E402

SLUG, ADMIN, SEARCHES, PAGES = "bench", "admin", 300, 30
# Some stand everywhere and most hardly anywhere, as in a language.
WORDS = ["".join(each) for each in product("bdfghklm", "aeiou", "npqrstvz", "aeiou", "xwcj")]
OFTEN = list(accumulate(1 / place for place in range(1, len(WORDS) + 1)))


def main() -> None:
    """Every part, in turn."""
    passages, queries, traces = map(int, sys.argv[1:])
    benchmark = fill(passages, queries)
    retriever = computed(benchmark)
    search(retriever)
    run = agents(benchmark, retriever, endpoints.available()[0])
    reading(benchmark, run, traces)
    page(run)


def fill(passages: int, queries: int) -> Benchmark:
    """Passages of 60 words each, and queries of eight with three aspects."""
    rng = random.Random(7)
    benchmark = Benchmark.objects.create(slug=SLUG, name="Bench")
    admin = User.objects.create(username=ADMIN)
    Membership.objects.create(user=admin, benchmark=benchmark, roles=["admin"])
    version = CorpusVersion.objects.create(benchmark=benchmark, name="as loaded", state="ready")
    CorpusVersion.objects.filter(pk=version.pk).update(layers=[version.pk])
    domain = Domain.objects.create(benchmark=benchmark, name="words", is_ready=True)
    rows = (
        Passage(
            version=version, domain=domain, pid=f"p{n}", text=" ".join(rng.choices(WORDS, k=60))
        )
        for n in range(passages)
    )
    Passage.objects.bulk_create(rows, batch_size=5_000)
    asked = Query.objects.bulk_create(
        Query(domain=domain, qid=f"q{n}", text=f"{words(rng, 8)}?") for n in range(queries)
    )
    Aspect.objects.bulk_create(
        Aspect(
            query=query,
            k=number,
            content=f"What {words(rng, 4)} is.",
            weight=3,
            scale="likert5",
            created_by=admin,
        )
        for query in asked
        for number in (1, 2, 3)
    )
    return benchmark


def words(rng: random.Random, count: int) -> str:
    """So many words."""
    return " ".join(rng.choices(WORDS, cum_weights=OFTEN, k=count))


def computed(benchmark: Benchmark) -> RetrievalRun:
    """A BM25 run over all of it, with its index."""
    made = start(benchmark=benchmark, method="bm25", config={}, actor=None, claimed=True)
    run_computation(made)
    made.refresh_from_db()
    assert made.run is not None, made.error
    return made.run


def search(retriever: RetrievalRun) -> None:
    """Milliseconds of a search, and of the bare index asked the same in turn."""
    domain = Domain.objects.get()
    found = Searcher(retriever, domain, 5, payer=Payer(), step=lambda _: None)
    bare = found._find
    assert bare is not None
    asked = import_module("corpus.computing.methods").Asked
    rng, ours, theirs = random.Random(3), [], []
    for _ in range(SEARCHES):
        text = words(rng, 8)
        theirs.append(timed(lambda text=text: list(bare([asked(0, text, [])]))))
        ours.append(timed(lambda text=text: found.texts([p for p, _ in found.search(text)])))
    above = [1000 * (one - other) for one, other in zip(ours, theirs, strict=True)]
    print(
        f"a search with its five texts over {Passage.objects.count():,}: "
        f"{1000 * statistics.median(ours):.1f} ms, {statistics.median(above):.1f} ms above the "
        f"index alone (worst in twenty {sorted(above)[-SEARCHES // 20]:.1f})"
    )


def agents(benchmark: Benchmark, retriever: RetrievalRun, endpoint: endpoints.Endpoint) -> AgentRun:
    """Calls a second of one worker, of what its places and the latency allow."""
    queries: QuerySet[Query] = Query.objects.order_by("pk").select_related("domain__benchmark")
    run = start_agent(
        benchmark=benchmark, queries=queries, retriever=retriever, endpoint=endpoint,
        actor=None, rounds=3, claimed=True,
    )  # fmt: skip
    seconds = timed(lambda: AGENTS.drive(run))
    run.refresh_from_db()
    assert run.status == "done", run.pause_reason or run.error
    calls, most = Call.objects.filter(role__startswith="agent").count(), AT_ONCE / LATENCY_MS * 1000
    calls = calls or Call.objects.count()
    print(
        f"{AT_ONCE} agents at once: {calls:,} calls in {seconds:.1f} s, {calls / seconds:.0f} a "
        f"second, {calls / seconds / most:.2f} of {most:.0f}"
    )
    return run


def reading(benchmark: Benchmark, run: AgentRun, traces: int) -> None:
    """Seconds to import so many traces, beside those of reading their JSON alone."""
    records = [json.dumps(each) for each in export_traces(run, shape="reference")]
    path = Path(settings.ASSAY_DATA) / "traces.jsonl"
    path.write_text("".join(f"{records[n % len(records)]}\n" for n in range(traces)))
    alone = timed(lambda: [json.loads(line) for line in path.open()])
    whole = timed(
        lambda: import_traces(benchmark=benchmark, path=path, retriever="BM25", actor=None)
    )
    print(f"{traces:,} traces: {whole:.1f} s, {whole / alone:.1f} times their JSON alone")


def page(run: AgentRun) -> None:
    """The page of a trace of 100 rounds."""
    item = run.items.order_by("pk")[0]
    turns = [item.turns[n % len(item.turns)] | {"round": n + 1} for n in range(100)]
    run.items.filter(pk=item.pk).update(turns=turns, round_count=100)
    import_module("config.wsgi")  # imported as the server does, which settles the collector
    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(User.objects.get(username=ADMIN))
    path = f"/b/{SLUG}/agents/traces/{item.pk}/"
    assert client.get(path).status_code == 200
    times = [timed(lambda: client.get(path)) for _ in range(PAGES)]
    print(f"a trace of 100 rounds: {1000 * statistics.median(times):.0f} ms a page")


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
