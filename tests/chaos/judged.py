"""One run in this process against a stub, over passages of one's own."""

from collections.abc import Mapping

from django.conf import settings

from corpus.models import Pool
from debate.models import DebateRun
from debate.runs.services import start_run
from debate.tasks import DEBATES
from llm import endpoints
from tests.chaos.pairs import WORDS
from tests.factories import make_benchmark, make_passage, make_pool, make_query
from tests.stub.process import Stub


def pool_of(texts: Mapping[str, str]) -> Pool:
    """A benchmark of one query and a pool over these passages, by their ids."""
    benchmark = make_benchmark()
    query = make_query(benchmark, answers=[" ".join(WORDS)])
    pairs = [(query, make_passage(benchmark, pid, text=text)) for pid, text in texts.items()]
    return make_pool(benchmark, *pairs)


def judge(pool: Pool, stub: Stub, *, in_flight: int = 16) -> DebateRun:
    """Drive a run over the pool to its end."""
    stub.configure(settings)
    settings.ASSAY_CALLS_IN_FLIGHT = in_flight
    run = start_run(
        benchmark=pool.benchmark,
        pool=pool,
        endpoint=endpoints.available()[0],
        actor=None,
        claimed=True,
    )
    DEBATES.drive(run)
    run.refresh_from_db()
    assert (run.status, run.error) == ("done", "")
    return run
