"""Reading a version's crosswalk: where older passages are now, and what each passage holds."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from corpus.models import CorpusVersion, Crosswalk

CHUNK = 500


def reached(
    version: CorpusVersion, passages: Collection[int]
) -> tuple[dict[int, list[int]], dict[int, list[tuple[int, bool]]]]:
    """Where the text of these older passages is now, and all that each of those holds."""
    forward: dict[int, list[int]] = defaultdict(list)
    for old, new, _ in rows_of(version, passages):
        forward[old].append(new)
    return forward, _holds(version, {new for news in forward.values() for new in news})


def rows_of(version: CorpusVersion, old: Collection[int]) -> Iterator[tuple[int, int, bool]]:
    """(older passage, passage of the version, whether labels carry), for these older passages."""
    keys = sorted(old)
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        rows = Crosswalk.objects.filter(version=version, old_id__in=part).order_by("pk")
        yield from rows.values_list("old_id", "new_id", "carries")


def rows_behind(version: CorpusVersion, new: Collection[int]) -> Iterator[tuple[int, int]]:
    """(older passage, passage of the version) where labels carry, for these passages of it."""
    keys = sorted(new)
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        rows = Crosswalk.objects.filter(version=version, new_id__in=part, carries=True)
        yield from rows.order_by("pk").values_list("old_id", "new_id")


def _holds(version: CorpusVersion, new: Collection[int]) -> dict[int, list[tuple[int, bool]]]:
    found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    keys = sorted(new)
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        rows = Crosswalk.objects.filter(version=version, new_id__in=part).order_by("pk")
        for key, old, carries in rows.values_list("new_id", "old_id", "carries"):
            found[key].append((old, carries))
    return found
