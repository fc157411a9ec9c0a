"""A late look for calls that a dead worker left unanswered, as a task."""

import contextlib

from celery import shared_task

from kit.runs.models import BrokerAway
from llm.ledger.writing import LOST_AFTER, list_lost_calls


@shared_task(name="llm.list_lost_calls")
def look_for_lost_calls() -> None:
    """List calls that a dead worker left unanswered; harmless at any time."""
    list_lost_calls()


def look_for_lost_calls_later() -> None:
    """For a run that had another worker: what that one died with is not old enough yet to be sure.

    Should the message be lost, whoever drives or claims a run next looks as well.
    """
    with contextlib.suppress(BrokerAway):
        look_for_lost_calls.apply_async(countdown=LOST_AFTER.total_seconds() + 1)
