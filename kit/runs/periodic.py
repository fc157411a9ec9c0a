"""Small things that every worker does from time to time, besides the runs it finds due.

Several workers may do one at once, so doing it twice must change nothing twice.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)
_tasks: dict[str, tuple[float, Callable[[], object]]] = {}


def every(seconds: float, name: str, do: Callable[[], object]) -> None:
    """Let workers do this about so often; the same name again replaces it."""
    _tasks[name] = (seconds, do)


@dataclass
class PeriodicTasks:
    """When one worker last did each periodic task, in seconds of a clock that only goes forward."""

    done: dict[str, float] = field(default_factory=dict)

    def do_due(self, now: float) -> list[str]:
        """Do what is due and return its names; one that fails is logged and tried again later."""
        due = [
            name
            for name, (seconds, _) in _tasks.items()
            if now - self.done.get(name, float("-inf")) >= seconds
        ]
        for name in due:
            self.done[name] = now
            try:
                _tasks[name][1]()
            except Exception:  # one periodic task must not keep the others from being done
                logger.warning("periodic task: %s failed", name, exc_info=True)
        return due
