"""The worker's way into rerankings."""

from celery import shared_task

from corpus.models import RerankRun
from corpus.reranking.publish import close
from kit.runs.sharing import Share
from llm.drives import Drive


@shared_task(name=RerankRun.task_name)
def rerank(run_id: int) -> None:
    """Take part in a reranking; harmless when delivered twice."""
    RERANKINGS.take_part(run_id)


def _work(share: Share[RerankRun]) -> None:
    from corpus.reranking.pump import RerankPump  # the client is slow to import

    RerankPump.take_groups(share)


RERANKINGS = Drive(RerankRun, work=_work, close=close, related=("benchmark", "source", "second"))
