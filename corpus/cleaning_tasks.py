"""The worker's way into cleaning runs."""

import threading

from celery import shared_task
from django.conf import settings

from corpus.models import CleaningRun
from corpus.services.cleaning_rules import clean_by_rules
from llm import endpoints
from llm.driving import carry_out

# A run that finds no place stays due; its thread is free for imports and debates.
_places = threading.BoundedSemaphore(settings.ASSAY_RUNS_AT_ONCE)


@shared_task(name=CleaningRun.task_name)
def clean_corpus(run_id: int) -> None:
    """Claim the run and drive it for its turn; harmless when delivered twice."""
    if not _places.acquire(blocking=False):
        return
    try:
        runs = CleaningRun.objects.select_related("benchmark", "source", "version", "created_by")
        run = runs.filter(pk=run_id).first()
        if run is not None and run.claim():
            drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)
    finally:
        _places.release()


def drive_claimed(run: CleaningRun, *, seconds: float | None = None) -> None:
    """Drive a run this process has claimed, to its end or for about so many seconds."""
    carry_out(run, lambda: _drive(run, seconds), name="cleaning run")


def _drive(run: CleaningRun, seconds: float | None) -> None:
    if not run.has_agents:
        clean_by_rules(run, seconds=seconds)
        return
    from corpus.cleaning_pump import drive  # the model client is slow to import

    drive(run, endpoints.get(run.endpoint), seconds=seconds)
