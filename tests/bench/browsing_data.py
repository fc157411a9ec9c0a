"""A scratch benchmark of full size for the browsing benchmark: texts, labels, cases, runs."""

import random
import time
from pathlib import Path

from django.contrib.auth.models import User

from annotate.models import EscalationCase, VoteSlot
from corpus.benchmarks.services import create_benchmark
from corpus.imports.loading import load
from corpus.imports.services import queue_import
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Document,
    Judgment,
    Membership,
    Passage,
    Query,
    RankedList,
    RetrievalRun,
    Source,
    Status,
)
from corpus.texts.indexing import is_ready, request_index, run_index
from kit.database.bulk import analyze

SLUG, ADMIN = "bench", "admin"
_JUDGMENTS, _CASES, _STUBS, _PAGES, _DEPTH, _BATCH = 100_000, 2_000, 400, 5_000, 1_000, 2_000


def fill(files: Path) -> None:
    """Load the files and add what people and machines would have added since."""
    admin, _ = User.objects.get_or_create(username=ADMIN)
    benchmark = create_benchmark(name="Bench", slug=SLUG, actor=None)
    Membership.objects.create(
        user=admin, benchmark=benchmark, roles=["admin", "annotator", "reviewer"]
    )
    load(queue_import(benchmark=benchmark, actor=None, format="bright_pro", path=files, claim=True))
    chance = random.Random(11)
    _add_stubs(benchmark)
    _add_pages(benchmark)
    _add_labels(benchmark, chance)
    _add_runs(benchmark, chance)
    analyze(Passage, Document, Judgment, Query, EscalationCase)


def fill_index() -> None:
    """What a worker does after the load."""
    run = request_index(CorpusVersion.objects.get())
    assert run.claim()
    started = time.perf_counter()
    run_index(run)
    assert is_ready(run.version)
    print(f"text index of {run.total:,} passages filled in {time.perf_counter() - started:.0f} s")


def _add_stubs(benchmark: Benchmark) -> None:
    version, domain = CorpusVersion.objects.current(benchmark), benchmark.domains.first()
    stubs = (
        Passage(version=version, domain=domain, pid=f"lost/{n}.txt", text=None)
        for n in range(_STUBS)
    )
    Passage.objects.bulk_create(stubs, batch_size=_BATCH)


def _add_pages(benchmark: Benchmark) -> None:
    version, domain = CorpusVersion.objects.current(benchmark), benchmark.domains.first()
    pages = (
        Document(
            version=version,
            domain=domain,
            doc_id=f"page-{n}",
            title=f"Page {n}",
            text="A long page. " * 1_000,
        )
        for n in range(_PAGES)
    )
    Document.objects.bulk_create(pages, batch_size=_BATCH // 10)


def _add_labels(benchmark: Benchmark, chance: random.Random) -> None:
    """Machines' labels, some superseded by people's, and cases that people still vote on."""
    labels = []
    for query in Query.objects.filter(domain__benchmark=benchmark):
        near = _some_passages(query, chance, _JUDGMENTS // 735)
        labels += [_label(query, pk, n) for n, pk in enumerate(near)]
    Judgment.objects.bulk_create(labels, batch_size=_BATCH)
    cases = [
        EscalationCase(origin=f"debate:{n}", query_id=each.query_id, passage_id=each.passage_id)
        for n, each in enumerate(chance.sample(labels, min(_CASES, len(labels))))
    ]
    opened = EscalationCase.objects.bulk_create(cases, batch_size=_BATCH)
    slots = (slot for case in opened for slot in case.new_slots())
    VoteSlot.objects.bulk_create(slots, batch_size=_BATCH)


def _label(query: Query, passage: int, n: int) -> Judgment:
    is_old, is_rare = n % 10 == 0, n == 1 and query.qid == "5"
    return Judgment(
        query=query,
        passage_id=passage,
        label=n % 2,
        source=Source.EXPERT if is_rare else Source.DEBATE if n % 3 else Source.HUMAN,
        status=Status.SUPERSEDED if is_old else Status.STANDING,
        practice=n % 5 == 0,
        provenance={"run": 1, "prompt": "f" * 64, "model": "m", "template": "g" * 64},
    )


def _some_passages(query: Query, chance: random.Random, count: int) -> list[int]:
    rows = query.domain.passages.order_by("pk")
    start = chance.randrange(max(1, rows.count() - count))
    return list(rows.values_list("pk", flat=True)[start : start + count])


def _add_runs(benchmark: Benchmark, chance: random.Random) -> None:
    queries = list(Query.objects.filter(domain__benchmark=benchmark).select_related("domain"))
    for name in ("bm25", "reader"):
        run = RetrievalRun.objects.create(
            benchmark=benchmark,
            name=name,
            digest=name,
            depth=_DEPTH,
            query_count=len(queries),
            unknown_count=3,
        )
        RankedList.objects.bulk_create(
            (_ranked(run, query, chance) for query in queries), batch_size=50
        )


def _ranked(run: RetrievalRun, query: Query, chance: random.Random) -> RankedList:
    pages = [
        f"{query.domain.name}-{chance.randrange(500)}/extraction_{n % 40}.txt"
        for n in range(_DEPTH)
    ]
    scores = [round(30 - n / 50, 3) for n in range(_DEPTH)]
    return RankedList(run=run, query=query, pids=pages, scores=scores)
