"""Which labels may be shown: none that would tell a voter how a pair stands that is voted on.

Labels that are known already, to compare machines with or to simulate people by."""

from collections.abc import Callable, Mapping

from django.db.models import Exists, Q, QuerySet

from corpus.judgments.models import PEOPLE
from corpus.models import Judgment, Pool, Source

# Conditions under which a label of an outer queryset stays hidden; rooms further left add theirs.
_hidden: list[Callable[[], Exists]] = []


def hide_labels(condition: Callable[[], Exists]) -> None:
    """Keep labels since the import from being shown while the condition holds of them."""
    _hidden.append(condition)


def shown_labels(labels: QuerySet[Judgment]) -> QuerySet[Judgment]:
    """Those that may be shown. The imported gold always may: everybody works from it."""
    for condition in _hidden:
        labels = labels.filter(Q(source=Source.ORIGINAL) | ~condition())
    return labels


def reference_labels(pool: Pool) -> Mapping[tuple[int, int], int]:
    """1 or 0 by (query, passage) key, for the pairs of a pool that people have judged.

    A standing label of a person goes before the imported gold of the domain's current version;
    a graded label is relevant from 1 on. Pairs that neither knows are missing: that the gold
    does not name a passage is no judgment of it.
    """
    queries = pool.entries.values("query_id")
    labels = Judgment.objects.filter(query_id__in=queries)
    people = labels.standing().filter(source__in=PEOPLE, practice=False)
    known: dict[tuple[int, int], int] = {}
    for rows in (labels.original(), people):
        for query, passage, label in rows.values_list("query_id", "passage_id", "label"):
            known[query, passage] = int(label > 0)
    pairs = pool.entries.values_list("query_id", "passage_id")
    return {pair: known[pair] for pair in pairs.iterator() if pair in known}
