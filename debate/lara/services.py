"""LARA over a run whose pairs are all measured: asking people, and labelling the rest.

Simulated, the answers are known already and everything ends at once. Live, people label the
picks: the run opens their cases, waits without a worker until they are closed (DebateRunQuerySet
.due reads that), refits and goes on. Nothing is kept but rows: the picks with their numbers on
the debates, people's labels on the cases.

How the pairs of a LARA run end: people's where they were asked, else the calibrated label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import CaseStatus
from corpus.judgments.services import lock_queries, record_judgment
from corpus.models import Judgment, Source
from corpus.pools.services import reference_labels
from debate import dream
from debate.baselines.calibrations import MODELS
from debate.baselines.lara import (
    Trajectory,
    balanced_groups,
    budget_for,
    label_batch,
    label_batches,
    probabilities,
    simulate,
    smooth_normalize,
)
from debate.escalation import escalate
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.configuration import SIMULATED
from debate.runs.kinds import config_of
from kit.failpoints import reach
from kit.runs.models import RunStatus

_CHUNK: Final = 200


@dataclass(frozen=True)
class Measured:
    """One pair: its debate, query and passage keys, and the probability of relevance.

    `pick` is its number where people were asked for it, `label` their label.
    """

    debate: int
    query: int
    passage: int
    probability: float
    status: str = DebateStatus.MEASURED
    pick: int | None = None
    label: int | None = None


def finish(run: DebateRun, pairs: Sequence[Measured], trajectory: Trajectory) -> None:
    """Give every pair that is only measured its end."""
    numbers = {index: number for number, index in enumerate(trajectory.picks, start=1)}
    given = dict(zip(trajectory.picks, trajectory.given, strict=True))
    for start in range(0, len(pairs), _CHUNK):
        ends = []
        for index in range(start, min(start + _CHUNK, len(pairs))):
            measures = {
                "probability": float(trajectory.probabilities[index]),
                "pick": numbers.get(index),
                "given": given.get(index),
                # Of how many the trajectory was: a run that is opened again has another one.
                "pairs": len(pairs),
            }
            ends.append((pairs[index].debate, measures, int(trajectory.labels[index])))
        _store(run, ends)
    run.finish(awaits_people=False)


def _store(run: DebateRun, ends: Sequence[tuple[int, dict[str, Any], int]]) -> None:
    with transaction.atomic():
        run.hold()
        waiting = Debate.objects.filter(status=DebateStatus.MEASURED).select_related(
            "query__domain__benchmark", "passage", "run"
        )
        debates = waiting.in_bulk([debate for debate, *_ in ends])
        lock_queries(debate.query_id for debate in debates.values())
        for debate, measures, label in ends:
            if debate in debates:
                _end(debates[debate], measures, label)
        fields = ["status", "label", "measures", "judgment", "ended_at"]
        Debate.objects.bulk_update(debates.values(), fields)


def _end(debate: Debate, measures: dict[str, Any], label: int) -> None:
    """A picked pair is for people; any other gets the calibrated label."""
    debate.measures, debate.ended_at = measures, timezone.now()
    if measures["pick"] is not None:
        debate.status = DebateStatus.ESCALATED
        return
    debate.status, debate.label = DebateStatus.JUDGED, label
    debate.judgment = _label(debate, measures["probability"])


def _label(debate: Debate, probability: float) -> Judgment:
    run = debate.run
    assert debate.label is not None  # given just before
    return record_judgment(
        query=debate.query,
        passage=debate.passage,
        label=debate.label,
        source=Source.LARA,
        practice=run.practice,
        provenance={
            "debate": debate.pk,
            "run": run.pk,
            "model": run.model,
            "prompt_sha256": run.prompt_sha256,
            "probability": probability,
        },
        trial=True,
        held=True,
    )


_ANSWERS_PER_BEAT: Final = 1000
_WITH_PROBABILITY: Final = (DebateStatus.MEASURED, DebateStatus.ESCALATED, DebateStatus.JUDGED)
NO_REFERENCE = (
    "LARA is simulated over known labels, and a pair it picked has none any more. "
    "Run it over a pool whose pairs have all been judged, or let people label the picks (live)."
)


def close_lara(run: DebateRun) -> None:
    """End a claimed run whose pairs have all been measured, or give it back to wait for people.

    A run that died meanwhile is closed again by whoever claims it next, with the same labels:
    they follow from the probabilities and the people's labels alone. Raises LostLease.
    """
    pairs = _measured(run)
    if config_of(run).lara.mode != SIMULATED:
        _go_on(run, pairs)
        return
    known = reference_labels(run.pool)
    truth = [known.get((pair.query, pair.passage)) for pair in pairs]
    if any(label is None for label in truth):
        run.finish(RunStatus.FAILED, error=NO_REFERENCE)
        return
    # Run LARA over a whole batch, people's answers taken from `truth`; holds the lease.
    lara = config_of(run).lara
    labelling = label_batch(
        MODELS[lara.variant](_pi(run, pairs)),
        budget_for(lara.budget, len(pairs)),
        groups=_groups(run, pairs),
    )
    finish(run, pairs, simulate(labelling, _Answers(run, [label or 0 for label in truth])))


def budget_progress(run: DebateRun) -> dict[str, int] | None:
    """Of a live run's budget: pairs that people have labelled, and pairs before them now.

    None for any other run, or before it asks.
    """
    if run.kind != RunKind.LARA or config_of(run).lara.mode == SIMULATED:
        return None
    picked = _picked(run)
    asked = picked.count()
    if not asked:
        return None
    labelled = picked.filter(case__status=CaseStatus.CLOSED).count()
    measured = run.debates.filter(status__in=_WITH_PROBABILITY).count()
    budget = max(asked, _budget(run, measured))
    return {"labelled": labelled, "open": asked - labelled, "budget": budget}


def _go_on(run: DebateRun, pairs: Sequence[Measured]) -> None:
    """Ask for batch after batch until people have to be waited for, or the budget is spent."""
    while True:
        if any(pair.pick and pair.label is None for pair in pairs) and not _is_cut(run, pairs):
            run.release(awaits_people=True)
            return
        batch = _next_batch(run, pairs)
        if isinstance(batch, Trajectory):
            finish(run, pairs, batch)
            return
        for start in range(0, len(batch), _CHUNK):
            _ask(run, batch[start : start + _CHUNK])
        pairs = _measured(run)


def _next_batch(
    run: DebateRun, pairs: Sequence[Measured]
) -> list[tuple[int, int, float]] | Trajectory:
    """What to ask next, as (debate, number, probability); the trajectory where nothing is left.

    A batch that was cut short by a death is made whole first: its numbers say where it ends.
    """
    size = _size(run, pairs)
    places = {pair.pick: place for place, pair in enumerate(pairs) if pair.pick}
    order = [places[number] for number in sorted(places)]
    whole = len(order) // size * size
    asked = [(place, pairs[place].label or 0) for place in order[:whole]]
    model, groups = MODELS[config_of(run).lara.variant](_pi(run, pairs)), _groups(run, pairs)
    batches = label_batches(model, _budget(run, len(pairs)), size, groups=groups, asked=asked)
    try:
        batch = next(batches)
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory
    begun = set(order[whole:])
    # What was labelled before the run was opened again for more pairs is asked of nobody.
    new = [p for p in batch if p not in begun and pairs[p].status == DebateStatus.MEASURED]
    new = new[: size - len(begun)]
    if not new:
        labels = [pairs[place].label or 0 for place in order]
        model = MODELS[config_of(run).lara.variant](_pi(run, pairs))
        for place, label in zip(order, labels, strict=True):
            model.learn(place, label)
        calibrated = probabilities(model)
        return Trajectory(
            tuple(order), tuple(labels), calibrated, (calibrated >= 0.5).astype(np.int64)
        )
    numbers = range(len(order) + 1, len(order) + 1 + len(new))
    chances = (model.at(float(model.x[place])) for place in new)
    return [
        (pairs[place].debate, number, chance)
        for place, number, chance in zip(new, numbers, chances, strict=True)
    ]


def _ask(run: DebateRun, picks: Sequence[tuple[int, int, float]]) -> None:
    """Bring picked pairs before people, each by the passage alone."""
    with transaction.atomic():
        run.hold()
        rows = run.debates.filter(status=DebateStatus.MEASURED)
        found = rows.select_related("query__domain__benchmark", "passage", "run")
        debates = found.in_bulk([debate for debate, *_ in picks])
        lock_queries(debate.query_id for debate in debates.values())
        for pk, number, probability in picks:
            debate = debates[pk]
            debate.measures = {"probability": probability, "pick": number}
            debate.status, debate.ended_at = DebateStatus.ESCALATED, timezone.now()
            debate.case = escalate(debate, dream.Verdict("escalated"))
        fields = ["status", "measures", "case", "ended_at"]
        Debate.objects.bulk_update(debates.values(), fields)
        reach("before-picks-commit")
    reach("after-picks-commit")


def _is_cut(run: DebateRun, pairs: Sequence[Measured]) -> bool:
    """Whether the last batch was not written whole; all before it is labelled then."""
    size, picks = _size(run, pairs), sorted(pair.pick for pair in pairs if pair.pick)
    budget = _budget(run, len(pairs))
    cut = len(picks) % size if len(picks) < budget else 0
    whole = len(picks) - cut
    return bool(cut) and all(
        pair.label is not None for pair in pairs if pair.pick and pair.pick <= whole
    )


def _size(run: DebateRun, pairs: Sequence[Measured]) -> int:
    lara = config_of(run).lara
    budget = max(1, _budget(run, len(pairs)))
    return budget if lara.mode == "at_once" else min(lara.batch, budget)


def _budget(run: DebateRun, count: int) -> int:
    """How many pairs people label; of all but one it is all of them, as the trajectory has it."""
    budget = budget_for(config_of(run).lara.budget, count)
    return count if budget >= count - 1 else budget


def _pi(run: DebateRun, pairs: Sequence[Measured]) -> Any:
    pi = np.array([pair.probability for pair in pairs], dtype=np.float64)
    return smooth_normalize(pi) if config_of(run).lara.smooth else pi


def _groups(run: DebateRun, pairs: Sequence[Measured]) -> list[list[int]]:
    lara = config_of(run).lara
    if lara.groups <= 1:
        return []
    return balanced_groups([pair.query for pair in pairs], lara.groups, seed=lara.seed)


class _Answers(Sequence[int]):
    """Labels that are known already; a large batch takes longer than a lease lasts."""

    def __init__(self, run: DebateRun, truth: Sequence[int]) -> None:
        self._run, self._truth, self._asked = run, truth, 0

    def __len__(self) -> int:
        return len(self._truth)

    def __getitem__(self, index: Any) -> Any:
        self._asked += 1
        if self._asked % _ANSWERS_PER_BEAT == 0:
            self._run.beat()
        return self._truth[index]


def _picked(run: DebateRun) -> QuerySet[Debate]:
    return run.debates.filter(status=DebateStatus.ESCALATED, case__isnull=False)


def _measured(run: DebateRun) -> list[Measured]:
    """Every pair with a probability, in the run's order, settled before or not."""
    cases = _picked(run).values_list("pk", "measures", "case__status", "case__label")
    asked = {
        pk: (measures["pick"], label if status == CaseStatus.CLOSED else None)
        for pk, measures, status, label in cases.iterator()
        if measures.get("pick")
    }
    turns = Turn.objects.filter(debate__run=run, score__isnull=False).order_by("debate_id")
    rows = turns.values_list(
        "debate_id", "debate__query_id", "debate__passage_id", "score", "debate__status"
    )
    return [
        Measured(debate, query, passage, float(score or 0), status, *asked.get(debate, ()))
        for debate, query, passage, score, status in rows.iterator()
    ]
