"""What rankings for a query leave out, as a corpus version has it."""

from collections.abc import Collection

from django.db.models import Q

from corpus.judgments.models import NOTHING_LEFT_OUT, LeftOut
from corpus.models import CorpusVersion, Passage, Query
from corpus.versions.crosswalk import targets
from corpus.versions.effective import effective_labels


def excluded_in(
    version: CorpusVersion, queries: Collection[Query], *, without: LeftOut = NOTHING_LEFT_OUT
) -> dict[int, set[str]]:
    """The ids that each query's ranking leaves out, as they are in the version.

    docs/protocol.md 4.5. In a derived version those of the passages that inherit from an excluded
    one; what an id names that no passage has stays as it is. A chunk may hold an excluded text
    beside gold of the query: that is gold and not left out. `without` names labels that do not
    count.
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
    labels = effective_labels(version, about=Q(query__in=asked), without=without) if after else None
    gold = {pair for pair, each in labels.pairs.items() if each.is_gold} if labels else set()
    found: dict[int, set[str]] = {}
    for query, pids in asked.items():
        keys = {pid: known.get((domains[query], pid)) for pid in pids}
        found[query] = {
            name
            for pid, key in keys.items()
            for name in (
                [pid]
                if key is None
                else [names[each] for each in reached[key] if (query, each) not in gold]
            )
        }
    return found
