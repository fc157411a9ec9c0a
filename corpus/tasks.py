"""Background work of the corpus room."""

from celery import shared_task

from corpus.cleaning import tasks as cleaning_tasks  # noqa: F401  (registers its task)
from corpus.computing import services as computing
from corpus.models import (
    ExpansionRun,
    PageFetch,
    PassageIndexRun,
    PoolBuild,
    RerankRun,
    RunComputation,
)
from corpus.pages import fetching
from corpus.pools import builds as pool_builds
from corpus.reranking import publish as reranking
from corpus.texts.indexing import take_turn
from corpus.wordings import publish as wordings
from kit.runs.driving import Drive
from kit.runs.sharing import Share


@shared_task(name=PassageIndexRun.task_name)
def index_passages(run_id: int) -> None:
    """Index passages for search; delivered twice, the second finds it claimed."""
    run = PassageIndexRun.objects.filter(pk=run_id).first()
    if run is not None and run.claim():
        take_turn(run)


@shared_task(name=PageFetch.task_name)
def fetch_page(run_id: int) -> None:
    """Fetch and read a page that an expert brought, if fewer than two are read in this process.

    Delivered twice, the second finds it claimed; without a place it is due as before.
    """
    fetching.take_turn(run_id)


@shared_task(name=PoolBuild.task_name)
def build_pool(run_id: int) -> None:
    """Build a pool; delivered twice, the second finds it claimed."""
    run = PoolBuild.objects.select_related("benchmark", "created_by").filter(pk=run_id).first()
    if run is not None and run.claim():
        pool_builds.run_build(run)


@shared_task(name=RunComputation.task_name)
def compute_run(run_id: int) -> None:
    """Compute a retrieval run; delivered twice, the second finds it claimed."""
    run = RunComputation.objects.select_related("benchmark").filter(pk=run_id).first()
    if run is not None and run.claim():
        computing.run_computation(run)


@shared_task(name=ExpansionRun.task_name)
def expand(run_id: int) -> None:
    """Take part in an expansion; harmless when delivered twice."""
    EXPANSIONS.take_part(run_id)


@shared_task(name=RerankRun.task_name)
def rerank(run_id: int) -> None:
    """Take part in a reranking; harmless when delivered twice."""
    RERANKINGS.take_part(run_id)


def _expand(share: Share[ExpansionRun]) -> None:
    from corpus.wordings.pump import ExpansionPump  # the client is slow to import

    ExpansionPump.take_groups(share)


def _rerank(share: Share[RerankRun]) -> None:
    from corpus.reranking.pump import RerankPump  # the client is slow to import

    RerankPump.take_groups(share)


EXPANSIONS = Drive(
    ExpansionRun, work=_expand, close=wordings.close, related=("benchmark", "retriever")
)
RERANKINGS = Drive(
    RerankRun, work=_rerank, close=reranking.close, related=("benchmark", "source", "second")
)
