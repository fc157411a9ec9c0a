"""Trials of a prompt or of adversarial passages: start, stop, store. They give no label."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from debate import dream
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
from debate.runs.kinds import debate_config
from debate.runs.outcomes import Outcome
from debate.runs.prompts import PromptGone, template_of
from debate.runs.pump import PairCalls
from debate.trials.adversarial import ALTERATIONS
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunGroup, RunStatus, wake
from kit.runs.moves import move_run
from kit.stats.sampling import draw
from llm.gateway import Gateways
from llm.pump import Pump

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


def start_adversarial_trial(*, run: DebateRun, size: int, seed: int, actor: User | None) -> Trial:
    """Debate pairs again that were agreed irrelevant, each with its passage altered to mislead.

    Alterations take turns. The altered texts are no passages: they are in no corpus, pool, label or
    release. Raises Refused where no pair was agreed irrelevant.
    """
    irrelevant = run.debates.filter(status=DebateStatus.AGREED, label=0)
    pairs = _drawn(irrelevant, size, seed, "query__domain_id")
    return _start(run, TrialKind.ADVERSARIAL, pairs, seed, actor, None)


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
    if run.pool.of_aspects:
        raise Refused("Debates on aspects have a prompt of their own, which no trial changes.")
    alterations = list(ALTERATIONS) if kind == TrialKind.ADVERSARIAL else [""]
    with transaction.atomic():
        trial = Trial.objects.create(
            run=run, kind=kind, prompt=prompt, seed=seed, total=len(pairs), created_by=actor
        )
        TrialItem.objects.bulk_create(
            TrialItem(trial=trial, debate_id=pair, bait=alterations[place % len(alterations)])
            for place, pair in enumerate(pairs)
        )
        scope = trial.run.benchmark.slug
        audit.record(actor=actor, verb="start trial", target=trial, scope=scope, data=_data(trial))
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


def _data(trial: Trial) -> dict[str, Any]:
    return {"kind": trial.kind, "run": trial.run_id, "seed": trial.seed, "pairs": trial.total}


class TrialPump(Pump[TrialItem, Outcome]):
    """One worker's drive of its share of a trial."""

    run: Trial
    words = ("pair", "pairs")

    def prepare(self) -> None:
        """How its run debates, with the prompt that is tried."""
        try:
            config = debate_config(self.run.run)
        except PromptGone as gone:
            raise Refused(str(gone)) from None
        prompt = self.run.prompt
        self.config = replace(config, prompt=template_of(prompt)) if prompt else config

    def payer(self) -> DebateRun:
        """A trial spends its run's money."""
        return self.run.run

    def read_group(self, group: RunGroup) -> Sequence[TrialItem]:
        """Waiting pairs with what is read of them."""
        waiting = group.within(self.run.waiting_items())
        return list(waiting.select_related("debate__query", "debate__passage"))

    async def work(self, item: TrialItem, gateways: Gateways) -> Outcome:
        """Debate the pair as altered; a call that failed ends this pair and not the trial."""

        def debate(pair: dream.Pair, key: bytes) -> dream.Steps:
            alter = ALTERATIONS.get(item.bait)
            passage = alter(pair.query, pair.passage) if alter else pair.passage
            return dream.debate(replace(pair, passage=passage), self.config, key)

        run = self.run.run
        calls = PairCalls(item, gateways=gateways, max_tokens=run.max_tokens, subject="trial")
        outcome = await calls.verdict(debate, self.key)
        return replace(outcome, failure=None)

    def store(self, results: Sequence[Outcome]) -> int:
        """How pairs ended, each once; a failed call without the endpoint's own words."""
        stored = 0
        for each in results:
            verdict = each.verdict
            waiting = self.run.waiting_items().filter(pk=each.debate_id)
            stored += waiting.update(
                status=verdict.status,
                label=verdict.label,
                round=verdict.round,
                error="A call failed." if verdict.status == "failed" else verdict.detail,
                calls=[[*turn, call] for turn, call in each.calls.items()],
            )
        return stored
