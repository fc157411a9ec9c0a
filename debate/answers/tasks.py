"""The worker's way into answer runs."""

from celery import shared_task

from debate.models import AnswerRun
from kit.sharing import Share
from llm import endpoints
from llm.drives import Drive


@shared_task(name=AnswerRun.task_name)
def write_answers(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    ANSWERS.take_part(run_id)


def _work(share: Share[AnswerRun], seconds: float | None) -> None:
    from debate.answers.pump import AnswerPump  # the model client is slow to import

    AnswerPump(share, endpoints.get(share.run.endpoint), seconds=seconds).drive()


ANSWERS = Drive(AnswerRun, work=_work, close=AnswerRun.finish)
drive_claimed = ANSWERS.drive
