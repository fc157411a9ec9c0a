"""How many pairs were proposed before the filter: the first column of DREAM's Table 8."""

from django.core.cache import cache
from django.db.models import Count

from corpus.models import Pool, Query
from debate.services.filtering import KIND


def candidates(pool: Pool) -> tuple[Pool, dict[str, int]] | None:
    """The pool that this one was filtered out of, and its pairs by domain; None without a filter.

    Where filters followed each other, the pool before the first. Pools do not change, so the
    counts are kept.
    """
    first = pool
    seen = {pool.pk}
    while first.provenance.get("kind") == KIND:
        earlier = Pool.objects.filter(
            benchmark=pool.benchmark_id, pk=first.provenance.get("pool")
        ).first()
        if earlier is None or earlier.pk in seen:
            break
        first = earlier
        seen.add(first.pk)
    if first == pool:
        return None
    key = f"pool-domains:{first.pk}:{first.created_at.timestamp()}"
    counts: dict[str, int] | None = cache.get(key)
    if counts is None:
        counts = _by_domain(first)
        cache.set(key, counts, timeout=24 * 3600)
    return first, counts


def _by_domain(pool: Pool) -> dict[str, int]:
    """Grouped by query as the index has them, and joined to the few domains here."""
    names = dict(
        Query.objects.filter(domain__benchmark=pool.benchmark_id)
        .order_by()
        .values_list("pk", "domain__name")
    )
    counts: dict[str, int] = {}
    for query, count in pool.entries.order_by().values_list("query").annotate(Count("pk")):
        counts[names[query]] = counts.get(names[query], 0) + count
    return counts
