"""Verbs on reasoning aspects (docs/protocol.md 3.1, steps 1, 2 and 5)."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db.models import F, Max
from django.utils import timezone

from annotate.models import Aspect, ChangeKind
from annotate.rights import lock_for_writing, record
from annotate.workspace.changes import Fields, merge, note_change, snapshots
from annotate.workspace.models import SCALE_TOP
from annotate.workspace.scales import scale_of
from corpus.models import Query
from kit.errors import Conflict, Refused


def normalised_weights(aspects: Iterable[Aspect]) -> list[float]:
    """Shares w = raw / sum of raw, in the order given (docs/protocol.md 3.1 step 2).

    No aspects have no shares; aspects whose weights sum to 0 are an error: ValueError.
    """
    raw = [aspect.weight for aspect in aspects]
    total = sum(raw)
    if raw and total == 0:
        raise ValueError("the weights of a query's aspects sum to 0")
    return [weight / total for weight in raw]


def add_aspect(
    *, query: Query, actor: User, content: str = "", weight: int | None = None
) -> Aspect:
    """Add an aspect at the end; its number k is given once and never used again.

    It takes the scale of the query's present aspects, else the benchmark's. Without a weight it
    begins in the middle of it and is not weighed yet. Raises Refused for a weight off the scale.
    """
    with lock_for_writing(query, actor):
        # Two people adding at once take turns, so that neither number nor place is given twice.
        aspect = make_aspect(query=query, actor=actor, content=content, weight=weight)
        note_change(query, ChangeKind.ADD, [], snapshots([aspect]), actor)
        _record(aspect, actor, "add aspect", content=content, weight=aspect.weight)
    return aspect


def make_aspect(
    *,
    query: Query,
    actor: User,
    content: str,
    weight: int | None,
    rationale: str = "",
    scale: str = "",
) -> Aspect:
    """The row of a new aspect, at the end, for a verb that locked the query."""
    rows = Aspect.objects.filter(query=query)
    last = rows.aggregate(k=Max("k"), position=Max("position"))
    scale = scale or scale_of(query)
    chosen = (SCALE_TOP[scale] + 1) // 2 if weight is None else weight
    check_weight(chosen, scale)
    return Aspect.objects.create(
        query=query,
        k=(last["k"] or 0) + 1,
        position=(last["position"] or 0) + 1,
        content=content,
        rationale=rationale,
        weight=chosen,
        weighed=weight is not None,
        scale=scale,
        created_by=actor,
        updated_by=actor,
    )


def write_weight(aspect: Aspect, actor: User, weight: int) -> None:
    """Change a weight for a review or an adjudication, with its event.

    For a caller that locked the query. Raises Conflict where somebody saved the aspect meanwhile.
    """
    before = aspect.weight
    if weight == before:
        return
    written = aspect.write(expected=aspect.version, actor=actor, weight=weight, weighed=True)
    data = {"version": written.version, "weight": weight, "before": before}
    _record(aspect, actor, "save aspect", **data)


def save_aspect(
    *,
    aspect: Aspect,
    actor: User,
    expected: int,
    content: str,
    rationale: str,
    weight: int | None,
    base: Fields | None = None,
) -> Aspect:
    """Write the texts and the weight over version `expected`; return the aspect as it is now.

    Without a weight the present one stays. While nobody chose one, any weight is a choice, also
    the one that the aspect began with.

    `base` holds the fields as the writing began: a field that the person left as it was takes what
    somebody else wrote meanwhile. Writing what is stored already changes nothing, whatever the
    version. Raises Conflict (carrying the present row and the fields that both changed), and
    Refused for a removed aspect or a weight off the scale.
    """
    fields: dict[str, Any] = {"content": content, "rationale": rationale}
    fields |= {"weight": weight} if weight is not None else {}
    with lock_for_writing(aspect.query, actor):
        current = Aspect.objects.select_for_update(of=("self",)).get(pk=aspect.pk)
        if current.removed_at is not None:
            raise Refused("This aspect was removed. Restore it to go on writing.")
        if weight is not None:
            check_weight(weight, current.scale)
        changed = _changed(current, fields, expected, base or {})
        if not changed:
            return current
        written = current.write(expected=current.version, actor=actor, **changed)
        before, after = snapshots([current]), snapshots([written])
        note_change(current.query, ChangeKind.CLARIFY, before, after, actor)
        now = {name: getattr(written, name) for name in fields}
        _record(written, actor, "save aspect", version=written.version, **now)
    return written


def _changed(
    current: Aspect, fields: dict[str, Any], expected: int, base: Fields
) -> dict[str, Any]:
    """What of these fields is to be written; raises Conflict for what others changed as well."""
    theirs = {name: getattr(current, name) for name in fields}
    known = {**(theirs if expected == current.version else {}), **base}
    if not current.weighed:  # so nobody's choice can be written over
        known["weight"] = current.weight
    changed, clashing = merge(base=known, mine=fields, theirs=theirs)
    if clashing:
        raise Conflict(current, fields=clashing)
    chosen = {"weighed": True} if "weight" in fields and not current.weighed else {}
    return {**changed, **chosen}


def remove_aspect(*, aspect: Aspect, actor: User) -> None:
    """Take an aspect away; Refused while passages stand on it. Undone by restore_aspect."""
    with lock_for_writing(aspect.query, actor):
        current = Aspect.objects.select_for_update(of=("self",)).get(pk=aspect.pk)
        require_bare(current, "a{k} still has {passages}.")
        if set_removed(current, actor, removed=True):
            note_change(aspect.query, ChangeKind.REMOVE, snapshots([current]), [], actor)
            _record(current, actor, "remove aspect")


def restore_aspect(*, aspect: Aspect, actor: User) -> None:
    """Bring a removed aspect back with its number, place and texts."""
    with lock_for_writing(aspect.query, actor):
        if set_removed(aspect, actor, removed=False):
            note_change(aspect.query, ChangeKind.RESTORE, [], snapshots([aspect]), actor)
            _record(aspect, actor, "restore aspect")


def move_aspect(*, aspect: Aspect, actor: User, direction: Literal["up", "down"]) -> None:
    """Swap an aspect with its neighbour; at the edge nothing happens.

    The order is not part of the version: moving must not refuse what somebody is typing.
    """
    with lock_for_writing(aspect.query, actor):
        order = list(Aspect.objects.filter(query=aspect.query_id).present())
        if aspect not in order:
            return
        here = order.index(aspect)
        there = here + (-1 if direction == "up" else 1)
        if not 0 <= there < len(order):
            return
        before = snapshots(order)
        order[here], order[there] = order[there], order[here]
        place_aspects(aspect.query, order)
        note_change(aspect.query, ChangeKind.REORDER, before, snapshots(order), actor)
        _record(aspect, actor, "move aspect", order=[each.k for each in order])


def place_aspects(query: Query, aspects: Sequence[Aspect], at: int = 0) -> None:
    """Put aspects before the `at`-th of the query's others, for a verb that locked the query."""
    others = [each for each in Aspect.objects.filter(query=query).present() if each not in aspects]
    for position, each in enumerate([*others[:at], *aspects, *others[at:]], start=1):
        Aspect.objects.filter(pk=each.pk).update(position=position)


def set_removed(aspect: Aspect, actor: User, *, removed: bool) -> bool:
    """Take the row away or bring it back; False if it was so already."""
    rows = Aspect.objects.filter(pk=aspect.pk, removed_at__isnull=removed)
    moment = timezone.now() if removed else None
    return bool(rows.update(removed_at=moment, version=F("version") + 1, updated_by=actor))


def require_bare(aspect: Aspect, said: str) -> None:
    """Raise Refused, in these words of its `k` and `passages`, while passages stand on it."""
    if count := aspect.gold_passages.standing().count():
        words = said.format(k=aspect.k, passages=f"{count} passage{'s' if count > 1 else ''}")
        raise Refused(f"{words} Move every one to another aspect or discard it first.")


def check_weight(weight: int, scale: str) -> None:
    """Raise Refused for a weight off the scale."""
    top = SCALE_TOP[scale]
    if not 1 <= weight <= top:
        raise Refused(f"Choose a weight from 1 to {top}.", field="weight")


def _record(aspect: Aspect, actor: User, verb: str, **data: Any) -> None:
    record(aspect.query, actor, verb, aspect, k=aspect.k, **data)
