"""What a release tells of the steps of a chain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from evaluation.chain.effects import BY_RUN
from evaluation.chain.models import Chain, ChainStep
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.services import child_of
from llm.ledger.accounts import PayingRun

SOURCE: Final = "source_sha256"


def origin_of(chain: Chain, left: Mapping[str, Any]) -> dict[str, Any]:
    """What the steps began with, as a release tells of it."""
    return {"step": 0, "do": "source", "plan": chain.plan, "output_sha256": left.get(SOURCE, "")}


def record_of(step: ChainStep) -> dict[str, Any]:
    """A step as a release tells of it: no keys of this installation, no people."""
    runs = [run for each in step.runs() for run in _parts(each)]
    return {
        "step": step.number,
        "do": step.do,
        "settings": step.settings,
        "models": [f"{model} at {endpoint}" for endpoint, model in _asked(runs)],
        "prompts": sorted(set(filter(None, (sha256 for run in runs for sha256 in _prompts(run))))),
        "budget_usd": None if step.budget_usd is None else str(step.budget_usd),
        "spent_usd": f"{step.spent_usd:f}",
        "started_at": _time(step.started_at),
        "ended_at": _time(step.ended_at),
        "seconds": _seconds(step),
        "input_sha256": step.input_sha256,
        "output_sha256": step.output_sha256,
        "figures": {name: value for name, value in step.figures.items() if name != BY_RUN},
    }


def calls_of(step: ChainStep) -> int:
    """How many calls the runs of a step made, whatever they cost."""
    runs = (run for each in step.runs() for run in _parts(each))
    return sum(run.calls.count() for run in runs if isinstance(run, PayingRun))


def _seconds(step: ChainStep) -> int | None:
    if step.started_at is None or step.ended_at is None:
        return None
    return round((step.ended_at - step.started_at).total_seconds())


def _parts(run: Any) -> list[Any]:
    """A run, or the runs that a pipeline began."""
    if not isinstance(run, PipelineRun):
        return [run]
    return [child for each in run.begun if (child := child_of(each)) is not None]


def _asked(runs: Sequence[Any]) -> list[tuple[str, str]]:
    """The endpoints and models that these runs ask, whoever named them."""
    found = {pair for run in runs if isinstance(run, PayingRun) for pair in run.asked if pair[1]}
    return sorted(found)


def _prompts(run: Any) -> list[str]:
    """The hashes of the prompts that a run asks by, as they were frozen."""
    config = getattr(run, "config", {})
    own = [getattr(run, "prompt_sha256", ""), config.get("prompt", "")]
    return [*own, *config.get("prompts", {}).values()]


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else None
