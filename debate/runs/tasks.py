"""The worker's way into debate runs."""

from celery import shared_task

from debate.models import DebateRun
from debate.runs.closing import close_run
from kit.sharing import Share
from llm import endpoints
from llm.drives import Drive


@shared_task(name=DebateRun.task_name)
def run_debates(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    DEBATES.take_part(run_id)


def _work(share: Share[DebateRun], seconds: float | None) -> None:
    from debate.runs.pump import Pump  # the model client is slow to import

    Pump(share, endpoints.get(share.run.endpoint), seconds=seconds).drive()


DEBATES = Drive(DebateRun, work=_work, close=close_run)
drive_claimed = DEBATES.drive
