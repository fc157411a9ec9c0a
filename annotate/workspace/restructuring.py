"""Splitting and merging aspects, moving them to the other scale, and undoing any change of them.

(docs/protocol.md 3.1 step 5.) Splitting and merging edit no aspect: the old ones are removed with
their numbers, which are never used again, and new ones take their place. The passages of the old
ones keep their labels; as their aspect is gone, each asks for a new one until a person says which.

Nothing is erased: undoing is a change too. A change can be undone while what it made is still so; a
later change of the same must be undone first. Passages that were given to the parts of a split
since go back to the aspect they came from. A passage that never supported it asks for its aspect,
because only a person can know.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.contrib.auth.models import User

from annotate.models import Aspect, AspectChange, ChangeKind, GoldPassage, Scale
from annotate.rights import lock_for_writing, record
from annotate.workspace.aspects import make_aspect, place_aspects, require_bare, set_removed
from annotate.workspace.changes import FIELDS, Snapshot, note_change, passages_of, snapshots
from annotate.workspace.gold import assign_passage
from annotate.workspace.models import SCALE_TOP
from annotate.workspace.scales import check_scale, off_scale
from corpus.models import Query
from kit.errors import Conflict, Refused

FEWEST, MOST = 2, 6


class Part(NamedTuple):
    """One of the aspects that an aspect becomes."""

    content: str
    weight: int
    rationale: str = ""


def split_aspect(
    *, aspect: Aspect, parts: Sequence[Part], actor: User, expected: int
) -> AspectChange:
    """Let two or more new aspects take the place of one; its passages ask for one of them.

    Raises Refused for fewer parts, one without words or off the scale, and Conflict where the
    aspect is not the version `expected` any more.
    """
    if not FEWEST <= len(parts) <= MOST:
        raise Refused(f"An aspect is split into {FEWEST} to {MOST} parts.", field="content")
    return _replace([aspect], parts, actor, {aspect.pk: expected}, ChangeKind.SPLIT)


def merge_aspects(
    *, aspects: Sequence[Aspect], into: Part, actor: User, expected: Mapping[int, int]
) -> AspectChange:
    """Let one new aspect take the place of several of one query; their passages ask for it.

    `expected` is the version of each by key. Raises as `split_aspect` does.
    """
    if len({aspect.pk for aspect in aspects}) < FEWEST:
        raise Refused("Choose the aspect to merge it with.", field="partner")
    if len({aspect.query_id for aspect in aspects}) > 1:
        raise Refused("Aspects of two queries cannot be merged.", field="partner")
    return _replace(aspects, [into], actor, expected, ChangeKind.MERGE)


def _replace(
    old: Sequence[Aspect],
    parts: Sequence[Part],
    actor: User,
    expected: Mapping[int, int],
    kind: ChangeKind,
) -> AspectChange:
    if not all(part.content.strip() for part in parts):
        raise Refused("Write what each aspect says.", field="content")
    query = old[0].query
    with lock_for_writing(query, actor):
        current = _lock(query, [aspect.pk for aspect in old], expected)
        before = snapshots(current)
        for shot, each in zip(before, current, strict=True):
            if passages := passages_of(each):
                shot["passages"] = passages
        place = _place(query, current)
        for each in current:
            set_removed(each, actor, removed=True)
        made = [
            make_aspect(
                query=query,
                actor=actor,
                content=part.content.strip(),
                rationale=part.rationale.strip(),
                weight=part.weight,
                scale=current[0].scale,
            )
            for part in parts
        ]
        place_aspects(query, made, at=place)
        change = note_change(query, kind, before, snapshots(made), actor)
        numbers = {"before": [each.k for each in current], "after": [each.k for each in made]}
        record(query, actor, f"{kind.value} aspect", query, **numbers)
    return change


def _lock(query: Query, pks: Sequence[int], expected: Mapping[int, int]) -> list[Aspect]:
    rows = Aspect.objects.select_for_update(of=("self",)).filter(query=query, pk__in=pks)
    current = sorted(rows, key=lambda each: (each.position, each.k))
    for each in current:
        if each.removed_at is not None:
            raise Refused(f"a{each.k} is gone. Look at the query again.", field="content")
        if each.version != expected.get(each.pk):
            raise Conflict(each)
    if len({each.scale for each in current}) > 1:
        raise Refused("These aspects are weighed on different scales. Move them to one first.")
    return current


def _place(query: Query, aspects: Iterable[Aspect]) -> int:
    """How many present aspects stand before the first of these."""
    order = list(Aspect.objects.filter(query=query).present())
    return min(order.index(each) for each in aspects)


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
    check_scale(scale)
    top = SCALE_TOP[scale]
    with lock_for_writing(query, actor):
        moving = off_scale(query, scale)
        if not moving:
            raise Refused(f"Every weight is on the scale {Scale(scale).label} already.")
        for aspect in moving:
            if not 1 <= weights.get(aspect.pk, 0) <= top:
                message = f"Choose a weight from 1 to {top} for a{aspect.k}."
                raise Refused(message, field="weights")
        moved = []
        for aspect in moving:
            expected = (versions or {}).get(aspect.pk, aspect.version)
            fields = {"weight": weights[aspect.pk], "scale": scale, "weighed": True}
            moved.append(aspect.write(expected=expected, actor=actor, **fields))
        change = note_change(query, ChangeKind.SCALE, snapshots(moving), snapshots(moved), actor)
        given = {each.k: each.weight for each in moved}
        record(query, actor, "move to scale", query, scale=scale, weights=given)
    return change


def undo_change(*, change: AspectChange, actor: User) -> AspectChange:
    """Take one change back; the change that does so is returned.

    Raises Refused for one that was undone already, and where what it made was changed since.
    """
    query = change.query
    with lock_for_writing(query, actor):
        current = AspectChange.objects.select_for_update(of=("self",)).get(pk=change.pk)
        if current.undone_by_id is not None or current.kind == ChangeKind.UNDO:
            raise Refused("This was undone already.")
        if current.kind in (ChangeKind.CLARIFY, ChangeKind.SCALE):
            _undo_words(current, actor)
        elif current.kind == ChangeKind.REORDER:
            rows = {each.pk: each for each in Aspect.objects.filter(query=current.query).present()}
            if list(rows) != [each["pk"] for each in current.after]:
                raise Refused("The aspects changed since. Undo that first.")
            place_aspects(current.query, [rows[each["pk"]] for each in current.before])
        else:
            _undo_presence(current, actor)
        undoing = note_change(query, ChangeKind.UNDO, current.after, current.before, actor)
        AspectChange.objects.filter(pk=current.pk).update(undone_by=undoing)
        record(query, actor, "undo change", undoing, change=current.pk, kind=current.kind)
    return undoing


def _undo_words(change: AspectChange, actor: User) -> None:
    """Clarifying and moving to another scale: the fields as they were."""
    for old, new in zip(change.before, change.after, strict=True):
        aspect = _present(change.query, new)
        # A field that the snapshot does not know is younger than the change.
        known = [name for name in FIELDS if name in new and name in old]
        if any(getattr(aspect, name) != new[name] for name in known):
            raise Refused(f"a{aspect.k} was written again since. Undo that first.")
        aspect.write(expected=aspect.version, actor=actor, **{name: old[name] for name in known})


def _undo_presence(change: AspectChange, actor: User) -> None:
    """Adding, removing, bringing back, splitting and merging: what stood before stands again."""
    made = [_present(change.query, each) for each in change.after]
    returned = [Aspect.objects.get(pk=each["pk"]) for each in change.before]
    if not returned:  # what only came is not taken away from under passages given to it
        for aspect in made:
            require_bare(aspect, "a{k} has {passages} by now.")
    place = _place(change.query, made) if made else None
    for aspect in made:
        set_removed(aspect, actor, removed=True)
    for aspect in returned:
        if not set_removed(aspect, actor, removed=False):
            raise Refused(f"a{aspect.k} is here again already.")
    if place is not None:
        place_aspects(change.query, returned, at=place)
    origin = {pk: each["pk"] for each in change.before for pk in each.get("passages", [])}
    given = GoldPassage.objects.standing().filter(aspect__in=made, passage__in=list(origin))
    for gold in given.select_related("query__domain__benchmark", "passage"):
        aspect = Aspect.objects.get(pk=origin[gold.passage_id])
        assign_passage(query=gold.query, passage=gold.passage, aspect=aspect, actor=actor)


def _present(query: Query, shot: Snapshot) -> Aspect:
    rows = Aspect.objects.select_for_update(of=("self",)).filter(query=query, pk=shot["pk"])
    aspect = rows.present().first()
    if aspect is None:
        raise Refused(f"a{shot['k']} was taken away since. Undo that first.")
    return aspect
