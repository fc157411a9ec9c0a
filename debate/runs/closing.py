"""Ending a run whose pairs have all been heard: what has to wait for the last of them."""

from django.db import transaction

from debate.audits.own_checks import check_itself
from debate.lara.services import close_lara
from debate.models import DebateRun, RunKind


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
