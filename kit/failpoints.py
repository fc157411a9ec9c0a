"""Named places where fault tests end a process. In real use nothing happens there."""

import itertools
import os
import signal
from typing import Final

from django.conf import settings

_hits: Final = itertools.count(1)


def reach(name: str, about: object = "") -> None:
    """Say that the place of that name is reached. Does nothing unless ASSAY_FAILPOINTS is set.

    That setting exists in the settings of fault tests and nowhere else. There ASSAY_FAILPOINT,
    `name:count`, ends this process by SIGKILL when the place is reached for the count-th time,
    and ASSAY_FAILPOINT_LOG names a file that gets a line `pid name about` each time.
    """
    if not getattr(settings, "ASSAY_FAILPOINTS", False):
        return
    if path := os.environ.get("ASSAY_FAILPOINT_LOG"):
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(log, f"{os.getpid()} {name} {about}\n".encode())
        os.close(log)
    wanted, _, count = os.environ.get("ASSAY_FAILPOINT", "").partition(":")
    if name == wanted and next(_hits) == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
