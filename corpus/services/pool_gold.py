"""What a pool leaves out: the passages that count as relevant already."""

from collections.abc import Sequence

from django.db.models import Q

from corpus.models import CorpusVersion, Judgment, Query
from corpus.models.labels import PEOPLE
from corpus.services.holding import holding


def gold_of(queries: Sequence[Query], version: CorpusVersion | None) -> dict[int, set[int]]:
    """Passages that count as relevant already, by query."""
    if version is not None and version.is_derived:
        return _gold_carried(queries, version)
    relevant = Judgment.objects.filter(query__in=queries, label__gt=0)
    people = relevant.standing().filter(source__in=PEOPLE)
    found: dict[int, set[int]] = {}
    for rows in (relevant.original(), people):
        for query, passage in rows.values_list("query_id", "passage_id"):
            found.setdefault(query, set()).add(passage)
    return found


def _gold_carried(queries: Sequence[Query], version: CorpusVersion) -> dict[int, set[int]]:
    """The same in a derived version: what its cleanings carry to it, and what was given there."""
    found: dict[int, set[int]] = {}
    for (query, passage), held in holding(version, about=Q(query__in=queries)).pairs.items():
        word = held.given
        if (held.base or 0) > 0 or (word and word.label > 0 and word.source in PEOPLE):
            found.setdefault(query, set()).add(passage)
    return found
