"""Where gold of aspects is missing (docs/protocol.md X06): for pools, which ask from the right."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db.models import Q

from annotate.candidates.inherited import machine_gold_in, refused_in, support_in
from annotate.models import Aspect, EscalationCase, GoldPassage, SupportLabel
from annotate.workspace.inherited import gold_in, listed_under
from corpus.models import CorpusVersion, Query
from corpus.pools.services import Gap


def find_gaps(
    version: CorpusVersion | None,
    queries: Sequence[Query],
    found: Mapping[int, Collection[int]],
) -> list[Gap]:
    """Aspects of which no passage that a run found is gold, by the experts or machine gold.

    What is gold of an aspect of the query, was judged for this one (by the practice model does not
    count), is before people, or was found not relevant for the query by them, need not be asked
    about.
    """
    about = Q(query__in=queries)
    supporting = _gold_of(version, about)
    asked: dict[int, set[int]] = defaultdict(set)
    real = SupportLabel.objects.standing().filter(aspect__query__in=queries, practice=False)
    judged = set(real.values_list("aspect", "passage"))
    machine = set(real.machine_gold().values_list("aspect", "passage"))
    refused = refused_in(version, [query.pk for query in queries])
    if version is not None and version.is_derived:
        of_queries = Q(aspect__query__in=queries)
        judged.update(support_in(version, about=of_queries & Q(practice=False)))
        machine = set(machine_gold_in(version, real.machine_gold(), about=of_queries))
    cases = EscalationCase.objects.filter(about, aspect__isnull=False)
    for aspect, passage in (*judged, *cases.values_list("aspect", "passage")):
        asked[aspect].add(passage)
    for aspect, passage in machine:
        supporting[aspect].add(passage)
    aspects = list(Aspect.objects.present().filter(about).exclude(content=""))
    taken: dict[int, set[int]] = defaultdict(set)
    for each in aspects:
        taken[each.query_id] |= supporting[each.pk]
    for query, passage in refused:
        taken[query].add(passage)
    return [
        Gap(each.query_id, each.k, each.content, taken[each.query_id] | asked[each.pk])
        for each in sorted(aspects, key=lambda each: (each.query_id, each.k))
        if not supporting[each.pk] & set(found.get(each.query_id, ()))
    ]


def _gold_of(version: CorpusVersion | None, about: Q) -> dict[int, set[int]]:
    """Passages by aspect, as a derived version inherits them."""
    supporting = listed_under(about)
    if version is not None and version.is_derived:
        for aspect, passages in gold_in(version, about=about)[0].items():
            supporting[aspect].update(passages)
        return supporting
    rows = GoldPassage.objects.standing().filter(about)
    for aspect, passage in rows.values_list("aspect", "passage"):
        supporting[aspect].add(passage)
    return supporting
