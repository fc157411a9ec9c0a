"""What the leader of a cleaning does when no group is free any more."""

import time
from typing import Final

from corpus.models import CleaningRun, PageState
from corpus.services.cleaning_publish import publish, publish_groups, write_pages
from corpus.services.cleaning_share import Share
from kit.runs import RunStatus

# Between two looks at the groups that others hold.
_LOOK_S: Final = 0.2
HELD: Final = "{pages} for a person: decide about the violations, and the run goes on by itself."


def wait_for_others(share: Share, *, ends_at: float) -> bool:
    """Wait while other workers hold groups; whether all are done.

    False once a group can be taken or the time is up. Raises LostLease and Stopping.
    """
    groups = share.run.groups
    while groups.exclude(status=RunStatus.DONE).exists():
        if groups.due().exists() or time.monotonic() >= ends_at:
            return False
        time.sleep(_LOOK_S)
        share.beat()
    return True


def close(run: CleaningRun) -> None:
    """Publish the version, or wait for people. Raises LostLease."""
    if not run.has_agents:
        publish_groups(run)
        return
    held = run.pages.filter(state=PageState.HELD).count()
    if held:
        pages = "1 page waits" if held == 1 else f"{held:,} pages wait"
        run.pause(pause_reason=HELD.format(pages=pages))
        return
    publish(run, write_pages(run))
