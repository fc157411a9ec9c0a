"""The worker's way into answer runs."""

from celery import shared_task

from debate.answers.pump import AnswerPump
from debate.models import AnswerRun
from llm.drives import Drive


@shared_task(name=AnswerRun.task_name)
def write_answers(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    ANSWERS.take_part(run_id)


ANSWERS = Drive(AnswerRun, work=AnswerPump.take_groups, close=AnswerRun.finish)
drive_claimed = ANSWERS.drive
