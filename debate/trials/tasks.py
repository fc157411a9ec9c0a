"""The worker's way into trials."""

from celery import shared_task

from debate.models import Trial
from debate.trials.pump import TrialPump
from llm.drives import Drive


@shared_task(name=Trial.task_name)
def hold_trial(trial_id: int) -> None:
    """Lead the trial for a turn, or help who leads it; harmless when delivered twice."""
    TRIALS.take_part(trial_id)


TRIALS = Drive(
    Trial, work=TrialPump.take_groups, close=Trial.finish, related=("run__benchmark", "prompt")
)
