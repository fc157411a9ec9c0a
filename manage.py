#!/usr/bin/env python
"""Django's command-line entry; `python manage.py help` lists what Assay adds."""

import os
import signal
import sys
from types import FrameType

_STARTS = (["prepare"], ["serve"])
_SOON_S = 0.05
# Commands that read files and need no database, and the room of each.
_ALONE = {
    "aggregate_votes": "annotate",
    "agreement": "annotate",
    "extract_text": "corpus",
    "practice_model": "llm",
    "score_run": "evaluation",
    "verify_events": "kit",
    "verify_release": "evaluation",
}
# What sends them to the database, or to settings of one's own, all the same; options may be cut
# short (`--bench`).
_NOT_ALONE = ("--be", "--settings", "--pythonpath")


def main() -> None:
    """Run the command named on the command line."""
    if is_alone(sys.argv[1:]):
        alone()
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] in _STARTS:
        start()
    else:
        is_of_pairs = any(each.startswith("--pa") for each in sys.argv[2:])
        if sys.argv[1:2] == ["restore"] or (sys.argv[1:2] == ["run_debates"] and is_of_pairs):
            # Without an installation: key and database are made in the folder.
            from config.safety import open_data_folder

            open_data_folder()
        run()


def is_alone(arguments: list[str]) -> bool:
    """Whether these arguments name a command that needs neither a database nor a secret key."""
    named, more = "".join(arguments[:1]), arguments[1:]
    return named in _ALONE and not any(each.startswith(_NOT_ALONE) for each in more)


def alone() -> None:
    """Run such a command under Django's own settings: loading every app takes longer than it."""
    from django.conf import settings
    from django.core.management import load_command_class

    settings.configure()
    name = sys.argv[1]
    load_command_class(_ALONE[name], name).run_from_argv(sys.argv)


def run() -> None:
    """Hand the command to Django."""
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def start() -> None:
    """Run a command that a person waits for: Ctrl-C ends it at any moment, in one line."""
    interrupted = False

    def interrupt(*_: int | FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGALRM):
        signal.signal(number, interrupt)
    sys.unraisablehook = interrupt_again
    try:
        from config.safety import open_data_folder

        open_data_folder()  # the settings ask for the key that it makes
        run()
    except BaseException:  # Python raises some interrupts as a RuntimeError (`__set_name__`)
        if not interrupted:
            raise
        for number in (signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        sys.stderr.write("Stopped. The next start goes on from here.\n")
        sys.exit(130)


def interrupt_again(dropped: "sys.UnraisableHookArgs") -> None:
    """Interrupt once more, soon: Python drops what is raised inside a finalizer or a callback."""
    if dropped.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    else:
        sys.__unraisablehook__(dropped)


if __name__ == "__main__":
    main()
