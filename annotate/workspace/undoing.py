"""Undoing a change of a query's aspects. Nothing is erased: undoing is a change too.

A change can be undone while what it made is still so; a later change of the same must be undone
first. Passages that were given to the parts of a split since go back to the aspect they came from.
A passage that never supported it asks for its aspect, because only a person can know.
"""

from collections.abc import Callable, Sequence

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import Aspect, AspectChange, ChangeKind, GoldPassage
from annotate.rights import lock_for_writing, record
from annotate.workspace.aspects import place_aspects, set_removed
from annotate.workspace.changes import FIELDS, Snapshot, note_change
from annotate.workspace.gold import assign_passage
from corpus.models import Query
from kit.errors import Refused


def undo_change(*, change: AspectChange, actor: User) -> AspectChange:
    """Take one change back; the change that does so is returned.

    Raises Refused for one that was undone already, and where what it made was changed since.
    """
    query = change.query
    with transaction.atomic():
        lock_for_writing(query, actor)
        current = AspectChange.objects.select_for_update(of=("self",)).get(pk=change.pk)
        if current.undone_by_id is not None or current.kind == ChangeKind.UNDO:
            raise Refused("This was undone already.")
        _UNDO[ChangeKind(current.kind)](current, actor)
        undoing = note_change(
            query=query,
            kind=ChangeKind.UNDO,
            before=current.after,
            after=current.before,
            actor=actor,
        )
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


def _undo_order(change: AspectChange, _: User) -> None:
    rows = list(Aspect.objects.filter(query=change.query).present())
    if [each.pk for each in rows] != [each["pk"] for each in change.after]:
        raise Refused("The aspects changed since. Undo that first.")
    by_pk = {each.pk: each for each in rows}
    place_aspects([by_pk[each["pk"]] for each in change.before])


def _undo_presence(change: AspectChange, actor: User) -> None:
    """Adding, removing, bringing back, splitting and merging: what stood before stands again."""
    made = [_present(change.query, each) for each in change.after]
    origin = {pk: each["pk"] for each in change.before for pk in each.get("passages", [])}
    _check_passages(made, change.before)
    place = _place(change.query, made)
    for aspect in made:
        set_removed(aspect, actor, removed=True)
    returned = [Aspect.objects.get(pk=each["pk"]) for each in change.before]
    for aspect in returned:
        if not set_removed(aspect, actor, removed=False):
            raise Refused(f"a{aspect.k} is here again already.")
    if place is not None:
        order = list(Aspect.objects.filter(query=change.query).present())
        back = {each.pk for each in returned}
        kept = [each for each in order if each.pk not in back]
        place_aspects([*kept[:place], *returned, *kept[place:]])
    _return_passages(made, origin, actor)


def _check_passages(made: Sequence[Aspect], before: Sequence[Snapshot]) -> None:
    """An aspect that only came is not taken away from under passages that were given to it."""
    for aspect in () if before else made:
        count = GoldPassage.objects.standing().filter(aspect=aspect).count()
        if count:
            raise Refused(
                f"a{aspect.k} has {count} passage{'s' if count > 1 else ''} by now. "
                "Move every one to another aspect or discard it first."
            )


def _return_passages(made: Sequence[Aspect], origin: dict[int, int], actor: User) -> None:
    rows = GoldPassage.objects.standing().filter(aspect__in=made)
    for gold in rows.select_related("query__domain__benchmark", "passage"):
        if gold.passage_id in origin:
            aspect = Aspect.objects.get(pk=origin[gold.passage_id])
            assign_passage(query=gold.query, passage=gold.passage, aspect=aspect, actor=actor)


def _place(query: Query, made: Sequence[Aspect]) -> int | None:
    order = list(Aspect.objects.filter(query=query).present().values_list("pk", flat=True))
    places = [order.index(each.pk) for each in made]
    return min(places) if places else None


def _present(query: Query, shot: Snapshot) -> Aspect:
    rows = Aspect.objects.select_for_update(of=("self",)).filter(query=query, pk=shot["pk"])
    aspect = rows.present().first()
    if aspect is None:
        raise Refused(f"a{shot['k']} was taken away since. Undo that first.")
    return aspect


_UNDO: dict[ChangeKind, Callable[[AspectChange, User], None]] = {
    ChangeKind.ADD: _undo_presence,
    ChangeKind.REMOVE: _undo_presence,
    ChangeKind.RESTORE: _undo_presence,
    ChangeKind.SPLIT: _undo_presence,
    ChangeKind.MERGE: _undo_presence,
    ChangeKind.CLARIFY: _undo_words,
    ChangeKind.SCALE: _undo_words,
    ChangeKind.REORDER: _undo_order,
}
