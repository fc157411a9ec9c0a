#!/usr/bin/env python
"""Django's command-line entry; `python manage.py help` lists what Assay adds."""

import os
import signal
import sys
from typing import Any

_SOON_S = 0.05


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    starts = sys.argv[1:2] in (["prepare"], ["serve"])
    try:
        if starts:
            for number in (signal.SIGINT, signal.SIGALRM):
                signal.signal(number, signal.default_int_handler)
            sys.unraisablehook = _interrupt_again
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


def _interrupt_again(dropped: Any) -> None:
    """Interrupt once more, soon: Python drops what is raised inside a finalizer or a callback."""
    if dropped.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    else:
        sys.__unraisablehook__(dropped)


if __name__ == "__main__":
    main()
