"""Trials of a prompt or of baited passages: starting, stopping, storing. No label comes of them."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from debate.measures.sampling import draw
from debate.models import (
    Debate,
    DebateRun,
    DebateStatus,
    PromptVersion,
    RunKind,
    Trial,
    TrialItem,
    TrialKind,
)
from debate.trials.canaries import BAITS
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, wake
from kit.runs.moves import move_run

MOST = 500
_DECIDED = (DebateStatus.AGREED, DebateStatus.ESCALATED)


def start_prompt_trial(
    *, run: DebateRun, prompt: PromptVersion, size: int, seed: int, actor: User
) -> Trial:
    """Debate a sample of the run's decided pairs again with another prompt, and wake a worker.

    The sample is in proportion to domain and outcome. Raises Refused where nothing is decided
    yet, for the run's own prompt and for a size outside 1 to 500.
    """
    if prompt.sha256 == run.prompt_sha256:
        raise Refused("This is the prompt that the run was made with.", field="text")
    pairs = _drawn(run.debates.filter(status__in=_DECIDED), size, seed, "label")
    return _start(run, TrialKind.PROMPT, pairs, seed, actor, prompt)


def start_canaries(*, run: DebateRun, size: int, seed: int, actor: User | None) -> Trial:
    """Debate pairs again that were agreed irrelevant, each with a bait put into its passage.

    Baits take turns. The baited texts are no passages: they are in no corpus, pool, label or
    release. Raises Refused where no pair was agreed irrelevant.
    """
    irrelevant = run.debates.filter(status=DebateStatus.AGREED, label=0)
    pairs = _drawn(irrelevant, size, seed, "query__domain_id")
    return _start(run, TrialKind.CANARY, pairs, seed, actor, None)


def cancel_trial(*, trial: Trial, actor: User) -> None:
    """Stop a trial for good; what is tried so far stays."""
    move_run(
        trial,
        RunStatus.CANCELLED,
        actor=actor,
        verb="cancel trial",
        scope=trial.run.benchmark.slug,
        data=_data(trial),
    )


def _start(
    run: DebateRun,
    kind: str,
    pairs: Sequence[int],
    seed: int,
    actor: User | None,
    prompt: PromptVersion | None,
) -> Trial:
    if run.kind != RunKind.DEBATE:
        raise Refused("Only a run of debates can be tried in another way.")
    baits = list(BAITS) if kind == TrialKind.CANARY else [""]
    with transaction.atomic():
        trial = Trial.objects.create(
            run=run, kind=kind, prompt=prompt, seed=seed, total=len(pairs), created_by=actor
        )
        TrialItem.objects.bulk_create(
            TrialItem(trial=trial, debate_id=pair, bait=baits[place % len(baits)])
            for place, pair in enumerate(pairs)
        )
        _note(trial, actor, "start trial")
        wake(trial)
    return trial


def _drawn(debates: QuerySet[Debate], size: int, seed: int, by: str) -> list[int]:
    if not 1 <= size <= MOST:
        raise Refused(f"Choose 1 to {MOST} pairs.", field="size")
    strata: dict[tuple[object, ...], list[int]] = {}
    rows = debates.exclude(passage__text=None).order_by("pk")
    for *stratum, pk in rows.values_list("query__domain_id", by, "pk").iterator():
        strata.setdefault(tuple(map(str, stratum)), []).append(pk)
    if not strata:
        raise Refused("This run has no pair of that kind yet.")
    return draw(strata, size, seed)


def _note(trial: Trial, actor: User | None, verb: str) -> None:
    scope = trial.run.benchmark.slug
    audit.record(actor=actor, verb=verb, target=trial, scope=scope, data=_data(trial))


def _data(trial: Trial) -> dict[str, Any]:
    return {"kind": trial.kind, "run": trial.run_id, "seed": trial.seed, "pairs": trial.total}
