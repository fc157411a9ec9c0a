"""Aspects of both, and the passages that support them."""

from collections.abc import Callable
from typing import Any

from annotate.models import Aspect, GoldPassage
from corpus.models import Judgment
from evaluation.transfer.merging.rows import Rows, by
from evaluation.transfer.models import ConflictKind


def merge_aspects(rows: Rows) -> None:
    """Theirs are taken over where the query had none, else added as removed ones."""
    ours = list(Aspect.objects.filter(query=rows.ours).order_by("pk"))
    theirs = list(Aspect.objects.filter(query=rows.theirs).order_by("pk"))
    same = _matched(ours, theirs)
    last = max((each.k for each in ours), default=0)
    brought = []
    for row in theirs:
        if found := same.get(row.pk):
            rows.match(row, found)
            said = [_of_aspect(each) for each in (found, row)]
            # One that an earlier merge added as removed stays what it is.
            if said[0] != said[1] and found.removed_at != found.created_at:
                rows.told.differ(ConflictKind.ASPECT, rows.ours, *said, aspect=found)
            continue
        changes: dict[str, object] = {"query": rows.ours}
        if ours:
            last += 1
            changes |= {"k": last, "removed_at": row.removed_at or row.created_at}
        made = rows.add(row, **changes)
        rows.told.note(made, "merge aspect", query=rows.ours.pk)
        if ours and row.removed_at is None:
            brought.append(row)
    if brought:
        present = [each.content for each in ours if each.removed_at is None]
        rows.told.differ(
            ConflictKind.ASPECTS,
            rows.ours,
            " · ".join(present),
            " · ".join(each.content for each in brought),
        )


def _matched(ours: list[Aspect], theirs: list[Aspect]) -> dict[int, Aspect]:
    """By their keys the same ones here: of one moment, else, where both imported them, of one
    text."""
    found: dict[int, Aspect] = {}
    keys: tuple[Callable[[Aspect], Any], ...] = (
        lambda each: (each.created_at, each.content),
        lambda each: each.created_at,
        lambda each: each.content if each.removed_at is None else "",
    )
    for key in keys:
        taken = {each.pk for each in found.values()}
        left = by((each for each in ours if each.pk not in taken), key)
        for row in theirs:
            if row.pk not in found and key(row) and left[key(row)]:
                found[row.pk] = left[key(row)].pop(0)
    return found


def merge_gold(rows: Rows) -> None:
    """A passage keeps its aspect of here; one that has none gets theirs."""
    ours = GoldPassage.objects.filter(query=rows.ours).select_related("aspect")
    theirs = GoldPassage.objects.filter(query=rows.theirs).order_by("pk")
    known = {(each.aspect_id, each.passage_id, each.created_at): each for each in ours}
    standing = {each.passage_id: each for each in ours if each.ended_at is None}
    stands_there = {rows.passage(each.passage_id) for each in theirs if each.ended_at is None}
    for row in theirs:
        aspect, passage = rows.led(Aspect, row.aspect_id), rows.passage(row.passage_id)
        if passage is None:
            rows.leave(row, "its passage is not here")
            continue
        if found := known.get((aspect.pk, passage.pk, row.created_at)):
            rows.match(row, found)
            is_here, is_there = found.ended_at is None, row.ended_at is None
            replaced = passage in stands_there if is_here else passage.pk in standing
            if is_here != is_there and not replaced and found.ended_at != found.created_at:
                name = f"a{found.aspect.k}"
                said = [name if stands else "taken back" for stands in (is_here, is_there)]
                rows.told.differ(ConflictKind.GOLD, rows.ours, *said, passage=passage)
            continue
        if rows.told.is_forged(row.created_by_id):
            rows.leave(row, "somebody of this installation did not choose it here")
            continue
        ended, other = row.ended_at, standing.get(passage.pk)
        if ended is None and (other is not None or aspect.removed_at is not None):
            ended = row.created_at
            if other is not None and other.aspect_id != aspect.pk:
                said = [f"a{other.aspect.k}", f"a{aspect.k}"]
                rows.told.differ(ConflictKind.GOLD, rows.ours, *said, passage=passage)
        made = rows.add(
            row,
            query=rows.ours,
            aspect=aspect,
            passage=passage,
            ended_at=ended,
            judgment=rows.led(Judgment, row.judgment_id),
            ended_by=rows.led(Judgment, row.ended_by_id),
        )
        if ended is None:
            standing[passage.pk] = made
        rows.told.note(made, "merge gold", query=rows.ours.pk)


def _of_aspect(aspect: Aspect) -> str:
    removed = ", removed" if aspect.removed_at else ""
    return f"{aspect.content} (weight {aspect.weight}{removed})"
