"""The tasks of this room, where Celery looks for them; each stands with its noun."""

from debate.answers.tasks import write_answers
from debate.hints.tasks import write_hints
from debate.runs.tasks import run_debates
from debate.trials.tasks import hold_trial

__all__ = ["hold_trial", "run_debates", "write_answers", "write_hints"]
