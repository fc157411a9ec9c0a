"""The worker's way into answer runs."""

import threading

from celery import shared_task
from django.conf import settings

from debate.models import AnswerRun
from llm import endpoints
from llm.pump import carry_out

# A run that finds no place stays due; its thread is free for other work.
_places = threading.BoundedSemaphore(settings.ASSAY_RUNS_AT_ONCE)


@shared_task(name=AnswerRun.task_name)
def write_answers(run_id: int) -> None:
    """Claim the run and drive it for its turn; harmless when delivered twice."""
    if not _places.acquire(blocking=False):
        return
    try:
        run = AnswerRun.objects.select_related("benchmark").filter(pk=run_id).first()
        if run is not None and run.claim():
            drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)
    finally:
        _places.release()


def drive_claimed(run: AnswerRun, *, seconds: float | None = None) -> None:
    """Drive a run this process has claimed, to its end or for about so many seconds."""
    carry_out(run, lambda: _drive(run, seconds), name="answer run")


def _drive(run: AnswerRun, seconds: float | None) -> None:
    from debate.answer_pump import drive  # the model client is slow to import

    drive(run, endpoints.get(run.endpoint), seconds=seconds)
