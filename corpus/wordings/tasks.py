"""The worker's way into expansions."""

from celery import shared_task

from corpus.models import ExpansionRun
from corpus.wordings.publish import close
from kit.runs.sharing import Share
from llm.drives import Drive


@shared_task(name=ExpansionRun.task_name)
def expand(run_id: int) -> None:
    """Take part in an expansion; harmless when delivered twice."""
    EXPANSIONS.take_part(run_id)


def _work(share: Share[ExpansionRun]) -> None:
    from corpus.wordings.pump import ExpansionPump  # the client is slow to import

    ExpansionPump.take_groups(share)


EXPANSIONS = Drive(ExpansionRun, work=_work, close=close, related=("benchmark", "retriever"))
