"""The worker's way into hint runs."""

from celery import shared_task

from debate.models import HintRun
from kit.sharing import Share
from llm import endpoints
from llm.drives import Drive


@shared_task(name=HintRun.task_name)
def write_hints(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    HINTS.take_part(run_id)


def _work(share: Share[HintRun], seconds: float | None) -> None:
    from debate.hints.pump import HintPump  # the model client is slow to import

    HintPump(share, endpoints.get(share.run.endpoint), seconds=seconds).drive()


HINTS = Drive(HintRun, work=_work, close=HintRun.finish, related=("panel__benchmark",))
drive_claimed = HINTS.drive
