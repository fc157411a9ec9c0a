"""How the pairs of a LARA run end: people's where they were asked, else the calibrated label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from corpus.models import Judgment, Source
from corpus.services.judgments import hold_queries, record_judgment
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
    place = {index: number for number, index in enumerate(course.picks, start=1)}
    for start in range(0, len(pairs), _CHUNK):
        chunk = range(start, min(start + _CHUNK, len(pairs)))
        _store(run, [(pairs[index], place.get(index), course, index) for index in chunk])
    run.finish(awaits_people=False)


def _store(run: DebateRun, ends: Sequence[tuple[Measured, int | None, Course, int]]) -> None:
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
