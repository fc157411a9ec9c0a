"""The worker's way into debate runs."""

from celery import shared_task
from django.db import transaction

from debate.audits.own_checks import check_itself
from debate.lara.services import close_lara
from debate.models import DebateRun, RunKind
from debate.runs.pump import Pump
from llm.drives import Drive


@shared_task(name=DebateRun.task_name)
def run_debates(run_id: int) -> None:
    """Lead the run for a turn, or help who leads it; harmless when delivered twice."""
    DEBATES.take_part(run_id)


def close_run(run: DebateRun) -> None:
    """Finish a run that this process has claimed; raises LostLease if it is no longer ours.

    A run that died while it was closed is closed again by whoever claims it next, to the same
    end. One that waits for people is given back instead.
    """
    if run.kind == RunKind.LARA:
        close_lara(run)
        return
    with transaction.atomic():
        check_itself(run)
        run.finish()


DEBATES = Drive(DebateRun, work=Pump.take_groups, close=close_run)
drive_claimed = DEBATES.drive
