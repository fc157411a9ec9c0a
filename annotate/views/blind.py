"""What every page on which weights are scored blind shows: the aspects' words, nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.models import Aspect, Scale
from annotate.models.aspects import RUBRIC, SCALE_TOP
from annotate.views.numbers import number


@dataclass(frozen=True)
class BlindField:
    """One aspect with the choice of a weight; `value` is what was chosen before an error."""

    aspect: Aspect
    name: str
    points: int
    value: int | None


def blind_context(aspects: Sequence[Aspect], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Context of annotate/review_blind.html."""
    scale = aspects[0].scale if aspects else Scale.LIKERT5
    fields = [
        BlindField(each, name, SCALE_TOP[each.scale], number(str(sent.get(name, ""))))
        for each in aspects
        for name in (f"weight-{each.pk}",)
    ]
    return {"fields": fields, "rubric": sorted(RUBRIC[scale].items(), reverse=True)}
