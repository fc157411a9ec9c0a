"""Labels of an earlier version, read through the crosswalk: nothing is copied, nothing is lost.

A label stays where it was given. A version that a cleaning made has no labels of its own kind; it
is read through its chain of parents, and what cannot be carried comes with the reason.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Q

from corpus.marcus.carrying import label_of
from corpus.models import CorpusVersion, Crosswalk, Judgment, Passage, Source
from corpus.models.texts import CLEANED

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class CarriedLabel:
    """A label as it holds for a passage of the version; `given_for` are the passages judged."""

    query: int
    passage: int
    label: int
    given_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Uncarried:
    """A label that holds for no passage of the version, and why."""

    query: int
    passage: int
    label: int
    why: str


@dataclass
class Carried:
    """What a version takes over."""

    labels: list[CarriedLabel]
    lost: list[Uncarried]


def labels_of(version: CorpusVersion) -> Carried:
    """Every label that counts, as it holds for the passages of the version.

    The current gold and standing labels; of two for one pair the one given later stands. For a
    version of loads they are those of its passages.
    """
    own = _own_labels(version)
    if version.recipe.get("kind") != CLEANED or version.parent is None:
        return Carried([CarriedLabel(q, p, n, (p,)) for (q, p), n in sorted(own.items())], [])
    before = labels_of(version.parent)
    after = _through(version, before)
    for (query, passage), label in own.items():  # given since, for the new passages themselves
        after.labels = [e for e in after.labels if (e.query, e.passage) != (query, passage)]
        after.labels.append(CarriedLabel(query, passage, label, (passage,)))
    return after


def gold_of(version: CorpusVersion) -> dict[int, list[int]]:
    """The queries that each passage of the version is gold for."""
    found: dict[int, list[int]] = defaultdict(list)
    for each in labels_of(version).labels:
        if each.label > 0:
            found[each.passage].append(each.query)
    return dict(found)


def targets(version: CorpusVersion, passages: Collection[int]) -> dict[int, list[int]]:
    """For passages of any earlier version those of this one that take over what holds for them.

    For gold passages and aspects of the room to the left: they are read through the same way.
    """
    chain: list[CorpusVersion] = []
    at: CorpusVersion | None = version
    while at is not None and at.recipe.get("kind") == CLEANED:
        chain.append(at)
        at = at.parent
    reached = {key: [key] for key in passages}
    for step in reversed(chain):
        rows = _rows(step, {key for keys in reached.values() for key in keys})
        onward: dict[int, list[int]] = defaultdict(list)
        for old, new, carries in rows:
            if carries:
                onward[old].append(new)
        own = set(
            Passage.objects.filter(
                version_id__in=step.layers, pk__in={k for ks in reached.values() for k in ks}
            ).values_list("pk", flat=True)
        )
        reached = {
            key: [t for each in keys for t in ([each] if each in own else onward[each])]
            for key, keys in reached.items()
        }
    return {key: list(dict.fromkeys(found)) for key, found in reached.items()}


def _own_labels(version: CorpusVersion) -> dict[tuple[int, int], int]:
    counts = Q(source=Source.ORIGINAL, gold_version__is_current=True)
    rows = Judgment.objects.filter(
        passage__version_id__in=version.layers, query__domain__benchmark=version.benchmark_id
    )
    found: dict[tuple[int, int], int] = {}
    for part in (rows.filter(counts), rows.standing().exclude(source=Source.ORIGINAL)):
        columns = part.order_by("pk").values_list("query_id", "passage_id", "label")
        for query, passage, label in columns.iterator(chunk_size=2000):
            found[query, passage] = label
    return found


def _through(version: CorpusVersion, before: Carried) -> Carried:
    by_query: dict[int, dict[int, CarriedLabel]] = defaultdict(dict)
    for each in before.labels:
        by_query[each.query][each.passage] = each
    judged = {each.passage for each in before.labels}
    forward: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for old, new, carries in _rows(version, judged):
        forward[old].append((new, carries))
    touched = {new for rows in forward.values() for new, _ in rows}
    holds = _holds(version, touched)
    found = Carried([], list(before.lost))
    for query, labels in sorted(by_query.items()):
        values = {key: each.label for key, each in labels.items()}
        taken: set[int] = set()
        for new in sorted({new for key in labels for new, _ in forward.get(key, ())}):
            label = label_of(values, holds[new])
            if label is None:
                continue
            behind = _behind(label, values, holds[new])
            given = {g for key in behind for g in labels[key].given_for}
            found.labels.append(CarriedLabel(query, new, label, tuple(sorted(given))))
            taken |= behind
        for key, each in sorted(labels.items()):
            if key not in taken:
                why = _why(each.label, forward.get(key, ()))
                found.lost += [Uncarried(query, g, each.label, why) for g in each.given_for]
    return found


def _behind(label: int, labels: Mapping[int, int], holds: Collection[tuple[int, bool]]) -> set[int]:
    """The judged passages that speak for the chunk's label."""
    if label > 0:
        return {key for key, carries in holds if carries and labels.get(key, 0) > 0}
    return {key for key, _ in holds if key in labels}


def _why(label: int, forward: Collection[tuple[int, bool]]) -> str:
    if not forward:
        return "nothing of its text is in this version"
    if label > 0:
        return "too little of its text is in any passage of this version"
    return "its text stands in a passage together with text that nobody judged"


def _rows(version: CorpusVersion, old: Collection[int]) -> Iterator[tuple[int, int, bool]]:
    keys = sorted(old)
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        rows = Crosswalk.objects.filter(version=version, old_id__in=part).order_by("pk")
        yield from rows.values_list("old_id", "new_id", "carries")


def _holds(version: CorpusVersion, new: Collection[int]) -> dict[int, list[tuple[int, bool]]]:
    found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    keys = sorted(new)
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        rows = Crosswalk.objects.filter(version=version, new_id__in=part).order_by("pk")
        for key, old, carries in rows.values_list("new_id", "old_id", "carries"):
            found[key].append((old, carries))
    return found
