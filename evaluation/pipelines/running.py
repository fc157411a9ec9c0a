"""Carrying a pipeline on: its steps behind one another, each by the workers of its own kind."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from corpus.tasks import EXPANSIONS, RERANKINGS, compute_run
from evaluation.background import failures_in_row
from evaluation.pipelines import plan
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.services import Child, begin, child_of
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus
from kit.runs.moves import note

logger = logging.getLogger(__name__)
_TAKES: Final[dict[str, Callable[[int], Any]]] = {
    plan.EXPAND: EXPANSIONS.take_part,
    plan.COMPUTE: compute_run,
    plan.HYBRID: compute_run,
    **dict.fromkeys(plan.RERANKS, RERANKINGS.take_part),
}
BROKEN: Final = "The pipeline stopped because of a fault in the program; see the log."
# Between two looks at a step that other workers are at.
_LOOK_S: Final = 0.2


def take_turn(run_id: int) -> None:
    """Carry a pipeline on for a worker's turn; harmless when delivered twice."""
    run = PipelineRun.objects.select_related("benchmark", "retriever", "created_by").filter(
        pk=run_id
    ).first()  # fmt: skip
    if run is not None and run.claim():
        carry_on(run, seconds=settings.ASSAY_PUMP_SECONDS)


def carry_on(run: PipelineRun, *, seconds: float | None = None) -> None:
    """Carry a claimed pipeline to its end, or for so many seconds: then it is released."""
    ends_at = None if seconds is None else time.monotonic() + seconds
    with (
        failures_in_row(run, broken=BROKEN),
        Heartbeat(run) as heartbeat,
    ):
        _carry_on(run, heartbeat, ends_at)


def _carry_on(run: PipelineRun, heartbeat: Heartbeat, ends_at: float | None) -> None:
    for place, step in enumerate(run.steps):
        if step["run"]:
            continue
        heartbeat.step(place, run.total)
        child = child_of(step) or _begin(run, step)
        while child.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            _TAKES[step["kind"]](child.pk)
            child.refresh_from_db()
            heartbeat.step(place, run.total)
            if ends_at is not None and time.monotonic() >= ends_at:
                return run.release()
            if child.status in (RunStatus.QUEUED, RunStatus.RUNNING):
                time.sleep(_LOOK_S)
        if child.status != RunStatus.DONE:
            return _stop(run, step, child)
        step["run"] = child.run_id
        run.hold(steps=run.steps, done=place + 1)
    with transaction.atomic():
        run.finish(done=run.total, error="")
        note(run, None, "finish pipeline", made=run.steps[-1]["run"])
    return None


def _begin(run: PipelineRun, step: dict[str, Any]) -> Child:
    """Start a step and note it in one: who lost the lease meanwhile has started nothing."""
    with transaction.atomic():
        run.hold()
        child = begin(run, step)
        step["child"] = child.pk
        run.hold(steps=run.steps)
    return child


def _stop(run: PipelineRun, step: dict[str, Any], child: Child) -> None:
    """A step that did not come to its end stops the pipeline, until a person resumes it."""
    why = getattr(child, "pause_reason", "") or child.error
    words = f"The step {step['name']} ({child}) is {child.get_status_display().lower()}. {why}"
    if child.status == RunStatus.CANCELLED:
        run.finish(RunStatus.FAILED, error=words.strip())
    else:
        run.pause(error=words.strip())
