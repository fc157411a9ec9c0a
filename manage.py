#!/usr/bin/env python
"""Django's command-line entry; `python manage.py help` lists what Assay adds."""

import os
import signal
import sys
from typing import Any

_AGAIN_S = 3


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    starts = sys.argv[1:2] in (["prepare"], ["serve"])
    try:
        if starts:
            for number in (signal.SIGINT, signal.SIGALRM):
                signal.signal(number, _interrupt)
            from config.safety import open_data_folder

            open_data_folder()  # the settings ask for the key that it makes
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        if not starts:
            raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stderr.write("Stopped. The next start goes on from here.\n")
        sys.exit(130)


def _interrupt(*_: Any) -> None:
    """End, and try again soon: Python drops an exception that is raised inside a finalizer."""
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
