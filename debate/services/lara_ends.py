"""How the pairs of a LARA run end: people's where they were asked, else the calibrated label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from corpus.judgments.services import hold_queries, record_judgment
from corpus.models import Judgment, Source
from debate.baselines.lara import Course
from debate.models import Debate, DebateRun, DebateStatus

_CHUNK: Final = 200


@dataclass(frozen=True)
class Measured:
    """One pair: its debate, query and passage keys, and the probability of relevance.

    `pick` is its number where people were asked for it, `label` what they said.
    """

    debate: int
    query: int
    passage: int
    probability: float
    status: str = DebateStatus.MEASURED
    pick: int | None = None
    label: int | None = None


def finish(run: DebateRun, pairs: Sequence[Measured], course: Course) -> None:
    """Give every pair that is only measured its end."""
    numbers = {index: number for number, index in enumerate(course.picks, start=1)}
    given = dict(zip(course.picks, course.given, strict=True))
    for start in range(0, len(pairs), _CHUNK):
        ends = []
        for index in range(start, min(start + _CHUNK, len(pairs))):
            measures = {
                "probability": float(course.probabilities[index]),
                "pick": numbers.get(index),
                "given": given.get(index),
                # Of how many the course was: a run that is opened again has another one.
                "pairs": len(pairs),
            }
            ends.append((pairs[index].debate, measures, int(course.labels[index])))
        _store(run, ends)
    run.finish(awaits_people=False)


def _store(run: DebateRun, ends: Sequence[tuple[int, dict[str, Any], int]]) -> None:
    with transaction.atomic():
        run.hold()
        waiting = Debate.objects.filter(status=DebateStatus.MEASURED).select_related(
            "query__domain__benchmark", "passage", "run"
        )
        debates = waiting.in_bulk([debate for debate, *_ in ends])
        hold_queries(debate.query_id for debate in debates.values())
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
