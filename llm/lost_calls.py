"""Calls that a worker sent and then died with: paid perhaps, and to be listed as such."""

import logging
import time
from datetime import timedelta
from typing import Final

from django.utils import timezone

from llm.lost import settle_lost

logger = logging.getLogger(__name__)

# How long a debate waits for one answer.
CALL_DEADLINE_S: Final = 120.0
# After this nobody alive waits for it any more; the margin is for writing the outcome down.
LOST_AFTER: Final = timedelta(seconds=CALL_DEADLINE_S + 60)
# How often a drive that goes on looks; meanwhile what a dead worker reserved cannot be spent.
LOOK_EVERY_S = 30.0


def list_lost_calls() -> int:
    """List calls whose worker must have died as possibly paid; how many there were.

    Calls that it is known to have never sent are settled as such.
    """
    lost = settle_lost(older_than=timezone.now() - LOST_AFTER)
    if lost.listed:
        logger.warning("%s calls were never answered and are listed as possibly paid", lost.listed)
    if lost.unsent:
        logger.info("%s calls of a worker that stopped were never sent", lost.unsent)
    return lost.listed


class Lookout:
    """Looks for lost calls from time to time while a drive goes on, however often it is asked."""

    def __init__(self) -> None:
        self._due = time.monotonic() + LOOK_EVERY_S

    def look(self) -> None:
        """List lost calls if it is time to."""
        if time.monotonic() < self._due:
            return
        list_lost_calls()
        self._due = time.monotonic() + LOOK_EVERY_S
