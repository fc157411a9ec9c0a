"""Reading a version's crosswalk: where older passages are now, and what each passage holds."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from corpus.models import CorpusVersion, Crosswalk

CHUNK = 500
# An older passage, a passage of the version that holds text of it, and whether labels carry.
Link = tuple[int, int, bool]


def reached(
    version: CorpusVersion, passages: Collection[int]
) -> tuple[dict[int, list[int]], dict[int, list[tuple[int, bool]]]]:
    """Where the text of these older passages is now, and all that each of those holds."""
    forward: dict[int, list[int]] = defaultdict(list)
    for old, new, _ in links_from(version, passages):
        forward[old].append(new)
    holds: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for old, new, carries in links_to(version, {new for news in forward.values() for new in news}):
        holds[new].append((old, carries))
    return forward, holds


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
