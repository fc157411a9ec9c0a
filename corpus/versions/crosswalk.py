"""Reading a version's crosswalk: where older passages are now, and what each passage contains."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from corpus.models import CorpusVersion, Crosswalk, Passage

CHUNK = 500
# In `extra` of a passage that a cleaning made: it also holds text of its page that no older passage
# covers, and that nobody can have judged. It counts as one more older passage, of no key.
BESIDE = "beside"
_NOBODY = 0
# An older passage, a passage of the version with text of it, and whether it inherits the labels.
Link = tuple[int, int, bool]


def crosswalk_of(
    version: CorpusVersion, passages: Collection[int]
) -> tuple[dict[int, list[int]], dict[int, list[tuple[int, bool]]]]:
    """The passages of the version with text of each older one, and for each of those every older
    passage in it with whether it inherits that one's labels; key 0 for text of none."""
    newer: dict[int, list[int]] = defaultdict(list)
    for old, new, _ in links_from(version, passages):
        newer[old].append(new)
    older: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for old, new, carries in links_to(version, {new for news in newer.values() for new in news}):
        older[new].append((old, carries))
    keys = sorted(older)
    for start in range(0, len(keys), CHUNK):
        part = Passage.objects.filter(pk__in=keys[start : start + CHUNK], version=version)
        for new in part.filter(extra__beside=True).order_by().values_list("pk", flat=True):
            older[new].append((_NOBODY, False))
    return newer, older


def links_from(version: CorpusVersion, old: Collection[int]) -> Iterator[Link]:
    """The links of these older passages."""
    return _links(version, "old_id__in", old)


def links_to(version: CorpusVersion, new: Collection[int]) -> Iterator[Link]:
    """The links of these passages of the version."""
    return _links(version, "new_id__in", new)


def _links(version: CorpusVersion, condition: str, passages: Collection[int]) -> Iterator[Link]:
    keys = sorted(passages)
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        rows = Crosswalk.objects.filter(version=version, **{condition: part}).order_by("pk")
        yield from rows.values_list("old_id", "new_id", "carries")


def targets(version: CorpusVersion, passages: Collection[int]) -> dict[int, list[int]]:
    """For passages of any earlier version those of this one that inherit their labels.

    For gold passages and aspects of the room to the left, which are inherited the same way.
    """
    chain: list[CorpusVersion] = []
    at: CorpusVersion | None = version
    while at is not None and at.is_derived:
        chain.append(at)
        at = at.parent
    found = {key: [key] for key in passages}
    for step in reversed(chain):
        keys = {key for keys in found.values() for key in keys}
        onward: dict[int, list[int]] = defaultdict(list)
        for old, new, carries in links_from(step, keys):
            if carries:
                onward[old].append(new)
        inside = Passage.objects.filter(version_id__in=step.layers, pk__in=keys)
        own = set(inside.values_list("pk", flat=True))
        found = {
            key: [t for each in keys for t in ([each] if each in own else onward[each])]
            for key, keys in found.items()
        }
    return {key: list(dict.fromkeys(keys)) for key, keys in found.items()}


def origins(version: CorpusVersion, passages: Collection[int]) -> dict[int, list[int]]:
    """For passages of a version the loaded ones that they inherit from: `targets` backwards.

    A passage of a version that no cleaning made is its own origin.
    """
    found = {key: [key] for key in passages}
    at: CorpusVersion | None = version
    while at is not None and at.is_derived:
        before: dict[int, list[int]] = defaultdict(list)
        for old, new, carries in links_to(at, {key for keys in found.values() for key in keys}):
            if carries:
                before[new].append(old)
        found = {key: [old for each in keys for old in before[each]] for key, keys in found.items()}
        at = at.parent
    return {key: list(dict.fromkeys(keys)) for key, keys in found.items()}


def kept_of(version: CorpusVersion) -> set[int] | None:
    """The loaded passages that a version still holds; None for all, where no cleaning made it."""
    kept: set[int] | None = None
    at: CorpusVersion | None = version
    while at is not None and at.is_derived:
        rows = Crosswalk.objects.filter(version=at, carries=True).order_by()
        pairs = rows.values_list("old_id", "new_id").iterator(chunk_size=5_000)
        kept = {old for old, new in pairs if kept is None or new in kept}
        at = at.parent
    return kept
