"""The worker's way into hint runs."""

from celery import shared_task

from debate.hints.pump import HintPump
from debate.models import HintRun
from llm.drives import Drive


@shared_task(name=HintRun.task_name)
def write_hints(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    HINTS.take_part(run_id)


HINTS = Drive(
    HintRun, work=HintPump.take_groups, close=HintRun.finish, related=("panel__benchmark",)
)
drive_claimed = HINTS.drive
