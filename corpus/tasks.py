"""Background work of the corpus room."""

from celery import shared_task

from corpus.cleaning import tasks as cleaning_tasks  # noqa: F401  (registers its task)
from corpus.computing.services import run_computation
from corpus.models import (
    ExpansionRun,
    PageFetch,
    PassageIndexRun,
    PoolBuild,
    RerankRun,
    RunComputation,
)
from corpus.pages import fetching
from corpus.pools.builds import run_build
from corpus.reranking import pump as reranking
from corpus.texts.indexing import take_turn
from corpus.wordings import pump as wordings
from kit.runs.driving import Drive
from kit.runs.polling import claimed_task

index_passages = claimed_task(PassageIndexRun, take_turn)
build_pool = claimed_task(PoolBuild, run_build, "benchmark", "created_by")
compute_run = claimed_task(RunComputation, run_computation, "benchmark")


@shared_task(name=PageFetch.task_name)
def fetch_page(run_id: int) -> None:
    """Fetch and read a page that an expert brought, if fewer than two are read in this process.

    Delivered twice, the second finds it claimed; without a place it is due as before.
    """
    fetching.take_turn(run_id)


EXPANSIONS = Drive(
    ExpansionRun,
    work=wordings.ExpansionPump.take_groups,
    close=wordings.close,
    related=("benchmark", "retriever"),
)
RERANKINGS = Drive(
    RerankRun,
    work=reranking.RerankPump.take_groups,
    close=reranking.close,
    related=("benchmark", "source", "second"),
)
expand, rerank = EXPANSIONS.task(), RERANKINGS.task()
