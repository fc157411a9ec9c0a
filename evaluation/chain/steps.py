"""The kinds of step of a chain by name, and why one cannot go on."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from evaluation.chain.answering import ANSWERING
from evaluation.chain.here import Kind
from evaluation.chain.labelling import LABELLING
from evaluation.chain.ranking import RANKING
from kit.runs.models import RunStatus

KINDS: Final[Mapping[str, Kind]] = {**RANKING, **LABELLING, **ANSWERING}


def problem_of(runs: Iterable[Any]) -> str:
    """Why the runs of a step cannot go on without a person, in words; "" where they can."""
    for run in runs:
        if run.status in (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.PAUSED):
            why = getattr(run, "pause_reason", "") or run.error
            told = f": {why}" if why else "."
            return f"a person: {run._meta.verbose_name} “{run}” is {run.status}{told}"
    return ""
