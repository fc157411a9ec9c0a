"""Two domains with a BM25 run over them, to be reranked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.computing import searching
from corpus.computing import services as computing
from corpus.models import Benchmark, RankedList, RerankRun, RetrievalRun
from corpus.reranking.asking import ROLES
from corpus.reranking.services import role_of, start_rerank
from corpus.tasks import RERANKINGS
from llm import endpoints
from tests.factories import make_benchmark, make_gold, make_passage, make_query

TEXTS = {
    "b1": "Mulch keeps the garden soil moist through a hot summer.",
    "b2": "Moist soil, moist garden, moist summer: a poem about soil, garden and rain, and soil.",
    "b3": "Trees that give shade in a garden: oak and beech.",
    "b4": "A garden in summer is full of bees, and bees like lavender, sun and warm garden walls.",
    "b5": None,
}


@dataclass
class Room:
    """The benchmark, its run, its queries."""

    benchmark: Benchmark
    source: RetrievalRun
    first: Any
    second: Any

    def start(self, method: str, endpoint: endpoints.Endpoint | None, **options: Any) -> RerankRun:
        """A run that this process has claimed; models that write are not tried on pairs first,
        unless it says so."""
        given: dict[str, Any] = {"claimed": True, "actor": None} | options
        if method in ROLES:
            given.setdefault("skip_probe", True)
        return start_rerank(
            benchmark=self.benchmark,
            source=given.pop("source", self.source),
            method=method,
            endpoint=endpoint if role_of(method) else None,
            **given,
        )

    def run(self, method: str, **options: Any) -> RerankRun:
        """A run, driven to its end by the practice model."""
        with endpoints.practice_if_unconfigured(role_of(method)) as endpoint:
            return driven(self.start(method, endpoint, **options))

    def order(self, run: RetrievalRun | None) -> list[str]:
        """The first query's ranking."""
        assert run is not None
        return list(RankedList.objects.get(run=run, query=self.first).pids)


def driven(run: RerankRun) -> RerankRun:
    """The run at its end."""
    RERANKINGS.drive(run)
    run.refresh_from_db()
    return run


def make_room(settings: Any, folder: Path) -> Room:
    """`first` asks for b1, its only gold passage; BM25 prefers b2."""
    settings.INDEXES = folder / "indexes"
    searching._corpora.clear()
    benchmark = make_benchmark("ranked", domains=("biology", "pony"))
    first = make_query(
        benchmark, "1", "biology", text="Does mulch keep garden soil moist in summer?"
    )
    second = make_query(benchmark, "1", "pony", text="How do actors send messages?")
    passages = {pid: make_passage(benchmark, pid, "biology", text=t) for pid, t in TEXTS.items()}
    make_gold(first, passages["b1"])
    make_passage(benchmark, "p1", "pony", title="Actors", text="Actors send messages and wait.")
    make_passage(benchmark, "p2", "pony", text="Messages are typed.")
    made = computing.start(benchmark=benchmark, method="bm25", config={}, actor=None, claimed=True)
    computing.run_computation(made)
    made.refresh_from_db()
    assert made.run is not None, made.error
    return Room(benchmark, made.run, first, second)
