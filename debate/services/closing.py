"""Ending a run whose pairs have all been heard: LARA's labels come then, for the whole batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from corpus.models import Judgment, Source
from corpus.services.judgments import hold_queries, record_judgment
from corpus.services.references import reference_labels
from debate.baselines.groups import balanced_groups
from debate.baselines.lara import (
    MODELS,
    Course,
    budget_for,
    label_batch,
    simulate,
    smooth_normalize,
)
from debate.kinds import config_of
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from kit.runs import RunStatus

_CHUNK = 200
_ANSWERS_PER_BEAT = 1000
NO_REFERENCE = (
    "LARA is simulated over known labels, and a pair it picked has none any more. "
    "Run it over a pool whose pairs have all been judged."
)


@dataclass(frozen=True)
class _Measured:
    """One pair: its debate, query and passage keys, and the probability of relevance."""

    debate: int
    query: int
    passage: int
    probability: float


def close_run(run: DebateRun) -> None:
    """Finish a run that this process has claimed; raises LostLease if it is no longer ours.

    A run that died while it was closed is closed again by whoever claims it next, with the same
    labels: they follow from the probabilities and the people's labels alone.
    """
    if run.kind == RunKind.LARA and not _settle_measured(run):
        run.finish(RunStatus.FAILED, error=NO_REFERENCE)
        return
    run.finish()


def _settle_measured(run: DebateRun) -> bool:
    """Give every measured pair its end; False where a label that people should know is missing."""
    pairs = _measured(run)
    known = reference_labels(run.pool)
    truth = [known.get((pair.query, pair.passage)) for pair in pairs]
    if any(label is None for label in truth):
        return False
    course = follow(run, pairs, [label or 0 for label in truth])
    place = {index: number for number, index in enumerate(course.picks, start=1)}
    for start in range(0, len(pairs), _CHUNK):
        chunk = range(start, min(start + _CHUNK, len(pairs)))
        _store(run, [(pairs[index], place.get(index), course, index) for index in chunk])
    return True


def follow(run: DebateRun, pairs: Sequence[_Measured], truth: Sequence[int]) -> Course:
    """Run LARA over a whole batch, people's answers taken from `truth`; holds the lease."""
    lara = config_of(run).lara
    pi = np.array([pair.probability for pair in pairs], dtype=np.float64)
    if lara.smooth:
        pi = smooth_normalize(pi)
    groups: list[list[int]] = []
    if lara.groups > 1:
        groups = balanced_groups([pair.query for pair in pairs], lara.groups, seed=lara.seed)
    labelling = label_batch(
        MODELS[lara.variant](pi), budget_for(lara.budget, len(pairs)), groups=groups
    )
    return simulate(labelling, _Answers(run, truth))


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


def _measured(run: DebateRun) -> list[_Measured]:
    """Every pair with a probability, in the run's order, settled before or not."""
    turns = Turn.objects.filter(debate__run=run, score__isnull=False).order_by("debate_id")
    rows = turns.values_list("debate_id", "debate__query_id", "debate__passage_id", "score")
    return [
        _Measured(debate, query, passage, float(score or 0))
        for debate, query, passage, score in rows.iterator()
    ]


def _store(run: DebateRun, ends: Sequence[tuple[_Measured, int | None, Course, int]]) -> None:
    with transaction.atomic():
        run.hold()
        waiting = Debate.objects.filter(status=DebateStatus.MEASURED).select_related(
            "query__domain__benchmark", "passage", "run"
        )
        debates = waiting.in_bulk([pair.debate for pair, *_ in ends])
        hold_queries(debate.query_id for debate in debates.values())
        for pair, pick, course, index in ends:
            if pair.debate in debates:
                _end(debates[pair.debate], pick, course, index)
        fields = ["status", "label", "measures", "judgment", "ended_at"]
        Debate.objects.bulk_update(debates.values(), fields)


def _end(debate: Debate, pick: int | None, course: Course, index: int) -> None:
    """A picked pair is for people; any other gets the calibrated label."""
    probability = float(course.probabilities[index])
    debate.measures = {"probability": probability, "pick": pick}
    debate.ended_at = timezone.now()
    if pick is not None:
        debate.status = DebateStatus.ESCALATED
        return
    debate.status, debate.label = DebateStatus.JUDGED, int(course.labels[index])
    debate.judgment = _label(debate, probability)


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
