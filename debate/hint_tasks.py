"""The worker's way into hint runs."""

from celery import shared_task
from django.conf import settings

from debate.models import HintRun
from llm import endpoints
from llm.pump import carry_out


@shared_task(name=HintRun.task_name)
def write_hints(run_id: int) -> None:
    """Claim the run and drive it for its turn; harmless when delivered twice."""
    run = HintRun.objects.select_related("panel__benchmark").filter(pk=run_id).first()
    if run is not None and run.claim():
        drive_claimed(run, seconds=settings.ASSAY_PUMP_SECONDS)


def drive_claimed(run: HintRun, *, seconds: float | None = None) -> None:
    """Drive a run this process has claimed, to its end or for about so many seconds."""
    carry_out(run, lambda: _drive(run, seconds), name="hint run")


def _drive(run: HintRun, seconds: float | None) -> None:
    from debate.hint_pump import drive  # the model client is slow to import

    drive(run, endpoints.get(run.endpoint), seconds=seconds)
