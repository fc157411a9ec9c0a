"""The two weight scales, side by side (docs/protocol.md 3.1 step 2; 7, row 1).

A weight is never computed from one on the other scale: who moves a query chooses its weights anew,
and the old ones stay in the history.
"""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from annotate.models import Aspect, AspectChange, ChangeKind, Scale, WeightScale
from annotate.rights import hold_for_writing
from annotate.workspace.changes import note_change, snapshot
from annotate.workspace.models import FAR, SCALE_TOP
from corpus.models import Benchmark, Membership, Query, Role
from kit import audit
from kit.errors import Refused


def scale_of(query: Query) -> str:
    """The scale of the query's present aspects, else the one that its benchmark begins with."""
    present = Aspect.objects.filter(query=query).present().values_list("scale", flat=True).first()
    return present or benchmark_scale(query.domain.benchmark)


def benchmark_scale(benchmark: Benchmark) -> str:
    """The scale on which the benchmark's new aspects are weighed."""
    chosen = WeightScale.objects.filter(benchmark=benchmark).values_list("scale", flat=True)
    return chosen.first() or Scale.LIKERT5


def points_apart(benchmark: Benchmark) -> int:
    """By how many points a blind score must differ from a weight to come before a third person."""
    chosen = WeightScale.objects.filter(benchmark=benchmark).values_list("far", flat=True)
    return chosen.first() or FAR


def choose_scale(
    *, benchmark: Benchmark, scale: str, actor: User, far: int | None = None
) -> WeightScale:
    """Weigh new aspects on this scale from now on; those that are here keep theirs.

    `far`, where given, says from how many points on two weights are in conflict. Raises Refused
    for what is no scale or beyond it, and PermissionDenied for everybody but admins.
    """
    place = Membership.objects.filter(user=actor, benchmark=benchmark).first()
    if place is None or Role.ADMIN not in place.roles:
        raise PermissionDenied("The scale is chosen by admins.")
    _check_scale(scale)
    far = points_apart(benchmark) if far is None else far
    most = max(SCALE_TOP.values()) - 1
    if not 1 <= far <= most:
        raise Refused(f"Two weights can lie 1 to {most} points apart.", field="far")
    with transaction.atomic():
        data = {"scale": scale, "far": far}
        chosen, _ = WeightScale.objects.update_or_create(benchmark=benchmark, defaults=data)
        audit.record(
            actor=actor, verb="choose scale", target=chosen, scope=benchmark.slug, data=data
        )
    return chosen


def off_scale(query: Query, scale: str) -> list[Aspect]:
    """The query's present aspects that are weighed on the other scale."""
    return list(Aspect.objects.filter(query=query).present().exclude(scale=scale))


def earlier_weights(query: Query, scale: str) -> dict[int, int]:
    """What people gave the query's aspects on this scale before they were moved off it."""
    found: dict[int, int] = {}
    for change in AspectChange.objects.filter(query=query).order_by("pk"):
        for each in [*change.before, *change.after]:
            if each["scale"] == scale:
                found[each["pk"]] = each["weight"]
    return found


def move_to_scale(
    *,
    query: Query,
    scale: str,
    weights: Mapping[int, int],
    actor: User,
    versions: Mapping[int, int] | None = None,
) -> AspectChange:
    """Weigh every aspect of the query on one scale: `weights` by key, for each that is off it.

    `versions` say which state of each aspect the person saw. Raises Refused for an aspect without
    its new weight, a weight off the scale, and where nothing is off it; Conflict (carrying the
    aspect) for one that was written meanwhile.
    """
    _check_scale(scale)
    with transaction.atomic():
        hold_for_writing(query, actor)
        moving = off_scale(query, scale)
        if not moving:
            raise Refused(f"Every weight stands on the scale 1 to {SCALE_TOP[scale]} already.")
        for aspect in moving:
            _check_choice(aspect, scale, weights)
        before, after = [], []
        for aspect in moving:
            expected = (versions or {}).get(aspect.pk, aspect.version)
            before.append(snapshot(aspect))
            fields = {"weight": weights[aspect.pk], "scale": scale, "weighed": True}
            after.append(snapshot(aspect.write(expected=expected, actor=actor, **fields)))
        change = note_change(
            query=query, kind=ChangeKind.SCALE, before=before, after=after, actor=actor
        )
        data = {"scale": scale, "weights": {each["k"]: each["weight"] for each in after}}
        slug = query.domain.benchmark.slug
        audit.record(actor=actor, verb="move to scale", target=query, scope=slug, data=data)
    return change


def _check_scale(scale: str) -> None:
    if scale not in Scale.values:
        raise Refused("Choose one of the two scales.", field="scale")


def _check_choice(aspect: Aspect, scale: str, weights: Mapping[int, int]) -> None:
    chosen, top = weights.get(aspect.pk), SCALE_TOP[scale]
    if chosen is None or not 1 <= chosen <= top:
        raise Refused(f"Choose a weight from 1 to {top} for a{aspect.k}.", field="weights")
