"""The weight scales, side by side (docs/protocol.md 3.1 step 2; 7, row 1).

A weight is never computed from one on the other scale: who moves a query chooses its weights anew,
and the old ones stay in the history.
"""

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import Aspect, AspectChange, Scale, WeightScale
from annotate.rights import require_admin
from annotate.workspace.models import SCALE_TOP
from corpus.models import Benchmark, Query
from kit import audit
from kit.errors import Refused


def scale_of(query: Query) -> str:
    """The scale of the query's present aspects, else the one that its benchmark begins with."""
    present = Aspect.objects.filter(query=query).present().values_list("scale", flat=True).first()
    return present or scale_of_benchmark(query.domain.benchmark).scale


def scale_of_benchmark(benchmark: Benchmark) -> WeightScale:
    """The scale of the benchmark's new aspects, and when two weights are in conflict."""
    chosen = WeightScale.objects.filter(benchmark=benchmark).first()
    return chosen or WeightScale(benchmark=benchmark)


def choose_scale(
    *, benchmark: Benchmark, scale: str, actor: User, far: int | None = None
) -> WeightScale:
    """Weigh new aspects on this scale from now on; those that are here keep theirs.

    `far`, where given, says from how many points on two weights are in conflict; on the scale of
    shares a point is a tenth. Raises Refused
    for what is no scale or beyond it, and PermissionDenied for everybody but admins.
    """
    require_admin(benchmark, actor, "The scale is chosen by admins.")
    check_scale(scale)
    far = scale_of_benchmark(benchmark).far if far is None else far
    most = SCALE_TOP[Scale.LIKERT5] - 1
    if not 1 <= far <= most:
        raise Refused(f"Two weights can lie 1 to {most} points apart.", field="far")
    with transaction.atomic():
        data = {"scale": scale, "far": far}
        chosen, _ = WeightScale.objects.update_or_create(benchmark=benchmark, defaults=data)
        audit.record(actor, "choose scale", chosen, benchmark.slug, data)
    return chosen


def off_scale(query: Query, scale: str) -> list[Aspect]:
    """The query's present aspects that are weighed on another scale."""
    return list(Aspect.objects.filter(query=query).present().exclude(scale=scale))


def earlier_weights(query: Query, scale: str) -> dict[int, int]:
    """What people gave the query's aspects on this scale before they were moved off it."""
    found: dict[int, int] = {}
    for change in AspectChange.objects.filter(query=query).order_by("created_at", "pk"):
        for each in [*change.before, *change.after]:
            if each["scale"] == scale:
                found[each["pk"]] = each["weight"]
    return found


def check_scale(scale: str) -> None:
    """Raise Refused for what is no scale."""
    if scale not in Scale.values:
        raise Refused("Choose one of the scales.", field="scale")
