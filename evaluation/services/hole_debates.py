"""From retrieval runs to a pool to a debate run over it, in one go."""

from collections.abc import Sequence

from django.contrib.auth.models import User

from corpus.models import Benchmark, RankedList, RetrievalRun
from corpus.services.pool_builds import build_pool
from debate.models import DebateRun
from debate.services.runs import start_run
from kit.errors import Refused
from llm.endpoints import Endpoint

# A pool of more lists takes longer than a person waits for a page.
MOST_LISTS = 20_000


def debate_holes(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    endpoint: Endpoint,
    depth: int = 10,
    rounds: int = 2,
    actor: User | None,
) -> DebateRun:
    """Pool what the runs rank highest, without the gold, and debate every pair of it.

    Raises Refused as pools and debate runs do; where the debate cannot start the pool stays.
    """
    count = RankedList.objects.filter(run__in=list(runs)).count()
    if count > MOST_LISTS:
        raise Refused(
            f"These runs hold {count:,} lists. Build the pool under Pools first, then start a "
            "debate run over it.",
            field="runs",
        )
    pool = build_pool(benchmark=benchmark, runs=runs, depth=depth, actor=actor)
    return start_run(benchmark=benchmark, pool=pool, endpoint=endpoint, rounds=rounds, actor=actor)
