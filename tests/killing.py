"""Workers that die at random, for tests of what is left of their runs."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kit.runs.models import TrackedRun
from kit.runs.sharing import Share
from llm.batching import Batcher
from llm.pump import Pump


class Killed(BaseException):
    """What a dead process would have come to."""


def live_until_killed(
    run: TrackedRun, drive: Callable[..., None], monkeypatch: Any, steps: int
) -> None:
    """Drive a claimed run until that many of its commits, calls and heartbeats have gone by."""
    left = [steps]

    def counting(original: Any) -> Any:
        def count(self: Any, *args: Any, **fields: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            original(self, *args, **fields)

        return count

    async def at_once(self: Any, *args: Any) -> None:
        """A dead process stores nothing more."""
        for task in args[1:]:
            task.cancel()

    work_all = Batcher._work_all

    async def in_silence(self: Any) -> None:
        """The task ends as it would, but leaves nothing to be logged when it is collected: that
        may happen anywhere, also inside a parser that CPython 3.11 cannot enter twice."""
        with suppress(Killed):
            await work_all(self)

    with monkeypatch.context() as patched:
        patched.setattr(Batcher, "_work_all", in_silence)
        patched.setattr(TrackedRun, "hold", counting(TrackedRun.hold))
        patched.setattr(Share, "hold_groups", counting(Share.hold_groups))
        # A dead process gives nothing back.
        patched.setattr(TrackedRun, "release", lambda self: None)
        patched.setattr(Pump, "_wind_down", at_once)
        with pytest.raises(BaseException):  # noqa: B017, PT011  (alone, or in a group of tasks)
            drive(run)
            raise Killed
    over = {"lease_until": timezone.now() - timedelta(1)}
    type(run).objects.filter(pk=run.pk).update(**over)
    run.groups.filter(status="running").update(**over)
