"""Labels given for passages that cleanings made, told of the loaded passages they were made of.

A cleaned passage holds text of the loaded ones whose labels it takes over. Where that is one, what
supports the query in it stands in the loaded one as well; that nothing does is told of the loaded
one only where it became this passage and no other (docs/protocol.md M08).
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from corpus.models import CorpusVersion, Domain, Judgment, Passage
from corpus.models.labels import Source
from corpus.services.crosswalk import origins, targets
from corpus.services.shown import shown_labels
from evaluation.exporters.records import Label

Pair = tuple[int, int]


class _Given(NamedTuple):
    label: int
    source: str
    practice: bool


@dataclass
class Since:
    """By query and loaded passage what was given for passages made of it alone; `untold` counts
    the relevant labels of passages that were made of several."""

    labels: dict[int, dict[int, Label]] = field(default_factory=dict)
    untold: int = 0


def given_since(
    versions: Iterable[CorpusVersion], domain: Domain, shared: Collection[int]
) -> Since:
    """Labels of the derived versions among these and their parents, for loaded passages of
    `shared`. Of several for one passage the highest counts."""
    found = Since()
    told: dict[Pair, _Given] = {}
    for version in _derived(versions):
        rows = Judgment.objects.filter(
            query__domain=domain, passage__version_id__in=version.layers
        ).standing()
        since = shown_labels(rows.exclude(source=Source.ORIGINAL)).order_by("pk")
        columns = ("query_id", "passage_id", "label", "source", "practice")
        given = list(since.values_list(*columns))
        came = origins(version, {row[1] for row in given})
        went = targets(version, {root for roots in came.values() for root in roots})
        for query, passage, label, source, practice in given:
            roots = came[passage]
            if len(roots) != 1:
                found.untold += label > 0
            elif roots[0] in shared and (label > 0 or went[roots[0]] == [passage]):
                pair = (query, roots[0])
                told[pair] = max(
                    told.get(pair, _Given(-1, "", False)), _Given(label, source, practice)
                )
    names = _names({root for _, root in told})
    for (query, root), best in told.items():
        found.labels.setdefault(query, {})[root] = Label(
            *names[root], base=None, given=best.label, source=best.source, practice=best.practice
        )
    return found


def _derived(versions: Iterable[CorpusVersion]) -> Iterator[CorpusVersion]:
    """Each once, with the derived ones that it was made of."""
    seen: set[int] = set()
    for version in versions:
        at: CorpusVersion | None = version
        while at is not None and at.is_derived and at.pk not in seen:
            seen.add(at.pk)
            yield at
            at = at.parent


def _names(keys: Collection[int]) -> dict[int, tuple[str, int]]:
    wanted, found = sorted(keys), {}
    for start in range(0, len(wanted), 500):
        part = Passage.objects.filter(pk__in=wanted[start : start + 500]).order_by()
        found.update({pk: (pid, pk) for pk, pid in part.values_list("pk", "pid")})
    return found
