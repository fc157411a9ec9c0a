"""Labels of an earlier version, read through the crosswalk: nothing is copied, nothing is lost.

A label stays where it was given. A version that a cleaning made has no labels of its own kind; it
is read through its chain of parents, and what cannot be carried comes with the reason.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from corpus.models import CorpusVersion, Crosswalk, Passage, Query
from corpus.versions.holding import Held, holding
from corpus.versions.rows import links_from, links_to


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

    labels: list[Held]
    lost: list[Uncarried]


def labels_of(version: CorpusVersion) -> Carried:
    """Every label that counts, as it holds for the passages of the version.

    Of the current gold and what was given since the latter counts (holding.py).
    """
    found = holding(version)
    return Carried(
        labels=[held for _, held in sorted(found.pairs.items())],
        lost=[
            Uncarried(each.held.query, passage, each.held.label, each.why)
            for each in found.lost
            for passage in each.held.given_for
        ],
    )


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
    while at is not None and at.is_derived:
        chain.append(at)
        at = at.parent
    reached = {key: [key] for key in passages}
    for step in reversed(chain):
        keys = {key for keys in reached.values() for key in keys}
        onward: dict[int, list[int]] = defaultdict(list)
        for old, new, carries in links_from(step, keys):
            if carries:
                onward[old].append(new)
        inside = Passage.objects.filter(version_id__in=step.layers, pk__in=keys)
        own = set(inside.values_list("pk", flat=True))
        reached = {
            key: [t for each in keys for t in ([each] if each in own else onward[each])]
            for key, keys in reached.items()
        }
    return {key: list(dict.fromkeys(found)) for key, found in reached.items()}


def origins(version: CorpusVersion, passages: Collection[int]) -> dict[int, list[int]]:
    """For passages of a version the loaded ones that they take over: `targets` backwards.

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


def excluded_in(version: CorpusVersion, queries: Collection[Query]) -> dict[int, set[str]]:
    """The ids that each query's ranking leaves out, as they are in the version.

    docs/protocol.md 4.5. In a derived version those of the passages that take over an excluded one;
    what an id names that no passage has stays as it is.
    """
    asked = {query.pk: set(query.excluded_ids) for query in queries if query.excluded_ids}
    if not asked or not version.is_derived:
        return asked
    domains = {query.pk: query.domain_id for query in queries}
    rows = Passage.objects.in_version(version.root).filter(
        domain_id__in=set(domains.values()), pid__in=set().union(*asked.values())
    )
    known = {
        (domain, pid): pk
        for pk, domain, pid in rows.order_by().values_list("pk", "domain_id", "pid")
    }
    reached = targets(version, set(known.values()))
    after = {pk for pks in reached.values() for pk in pks}
    names = dict(Passage.objects.filter(pk__in=after).order_by().values_list("pk", "pid"))
    found: dict[int, set[str]] = {}
    for query, pids in asked.items():
        keys = {pid: known.get((domains[query], pid)) for pid in pids}
        found[query] = {
            name
            for pid, key in keys.items()
            for name in ([pid] if key is None else [names[each] for each in reached[key]])
        }
    return found
