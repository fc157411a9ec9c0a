"""Splitting and merging aspects (docs/protocol.md 3.1 step 5).

Neither edits an aspect: the old ones are removed with their numbers, which are never used again,
and new ones take their place. The passages of the old ones keep their labels; as their aspect is
gone, each asks for a new one until a person says which.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import Aspect, AspectChange, ChangeKind
from annotate.rights import lock_for_writing, record
from annotate.workspace.aspects import make_aspect, place_aspects, set_removed
from annotate.workspace.changes import note_change, passages_of, snapshot
from corpus.models import Query
from kit.errors import Conflict, Refused

FEWEST, MOST = 2, 6


@dataclass(frozen=True)
class Part:
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
    _check_words(part.content for part in parts)
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
    _check_words([into.content])
    return _replace(aspects, [into], actor, expected, ChangeKind.MERGE)


def _replace(
    old: Sequence[Aspect],
    parts: Sequence[Part],
    actor: User,
    expected: Mapping[int, int],
    kind: ChangeKind,
) -> AspectChange:
    query = old[0].query
    with transaction.atomic():
        lock_for_writing(query, actor)
        current = _lock(query, [aspect.pk for aspect in old], expected)
        order = list(Aspect.objects.filter(query=query).present())
        before = [snapshot(each, passages=passages_of(each)) for each in current]
        gone = {each.pk for each in current}
        place = next(n for n, each in enumerate(order) if each.pk in gone)
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
        kept = [each for each in order if each.pk not in gone]
        place_aspects([*kept[:place], *made, *kept[place:]])
        after = [snapshot(each) for each in made]
        change = note_change(query=query, kind=kind, before=before, after=after, actor=actor)
        numbers = {"before": [each["k"] for each in before], "after": [each["k"] for each in after]}
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
    scales = {each.scale for each in current}
    if len(scales) > 1:
        raise Refused("These aspects are weighed on two scales. Move them to one first.")
    return current


def _check_words(contents: Iterable[str]) -> None:
    if not all(each.strip() for each in contents):
        raise Refused("Write what each aspect says.", field="content")
