"""The worker's way into cleaning runs."""

from celery import shared_task

from corpus.cleaning.chunks import Chunker
from corpus.cleaning.plan import plan
from corpus.cleaning.publish import close
from corpus.cleaning.rules import clean_by_rules
from corpus.cleaning.services import drop_cancelled
from corpus.models import CleaningPreset, CleaningRun
from kit.runs.driving import Drive
from kit.runs.models import RunStatus
from kit.runs.sharing import Share


@shared_task(name=CleaningRun.task_name)
def clean_corpus(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it, or drop what a cancelled one left.

    Harmless when delivered twice.
    """
    CLEANINGS.take_part(run_id)
    cancelled = CleaningRun.objects.filter(pk=run_id, status=RunStatus.CANCELLED)
    for run in cancelled.select_related("version"):
        drop_cancelled(run)


def _work(share: Share[CleaningRun]) -> None:
    run = share.run
    if not run.has_calls:
        work = Chunker(run) if run.preset == CleaningPreset.DCHUNK else None
        clean_by_rules(share, work=work)
        return
    if run.has_agents:
        from corpus.cleaning.pages import CleaningPump as Pump  # the client is slow to import
    else:
        from corpus.cleaning.chunk_pump import ChunkPump as Pump  # type: ignore[assignment]
    Pump.take_groups(share)


CLEANINGS = Drive(
    CleaningRun,
    work=_work,
    close=close,
    plan=plan,
    related=("benchmark", "source", "version", "created_by"),
)
drive_claimed = CLEANINGS.drive
