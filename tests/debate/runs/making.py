"""Runs of every kind over passages whose overlap with the answer is known."""

from typing import Any

from corpus.models import Benchmark, Pool
from debate.models import DebateRun
from debate.runs.configuration import RunConfig
from debate.runs.services import start_run
from debate.tasks import DEBATES
from tests.factories import make_passage, make_pool, make_query

# Ten answer words, so that the number of them in a passage is its overlap in tenths
# (docs/protocol.md 8: what the practice model goes by).
WORDS = ["moths", "roll", "their", "backs", "toward", "any", "lamp", "and", "fly", "loops"]


def pool_of(benchmark: Benchmark, *overlaps: int, name: str = "pairs") -> Pool:
    """One query with passages p3, p6, ... of that overlap in tenths."""
    query = make_query(benchmark, answers=[" ".join(WORDS)])
    pairs = [
        (
            query,
            make_passage(benchmark, f"p{n}", text=" ".join(WORDS[:n]) + " beside other things."),
        )
        for n in overlaps
    ]
    return make_pool(benchmark, *pairs, name=name)


def hold(pool: Pool, endpoint: Any, config: RunConfig | None = None, **options: Any) -> DebateRun:
    """Start the run and drive it to its end in this process."""
    run = start_run(
        benchmark=pool.benchmark,
        pool=pool,
        endpoint=endpoint,
        actor=None,
        config=config,
        claimed=True,
        **options,
    )
    return drive(run)


def drive(run: DebateRun) -> DebateRun:
    """Drive a claimed run to its end."""
    DEBATES.drive(run)
    run.refresh_from_db()
    return run


def outcomes(run: DebateRun) -> dict[str, tuple[str, int | None]]:
    """(status, label) by passage."""
    rows = run.debates.values_list("passage__pid", "status", "label")
    return {pid: (status, label) for pid, status, label in rows}
