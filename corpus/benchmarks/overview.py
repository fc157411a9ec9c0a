"""How much a benchmark holds, by domain."""

from collections import Counter
from typing import Any

from django.db.models import Count, QuerySet

from corpus.access import Access
from corpus.models import CorpusVersion, Domain, Judgment, Passage, Query, Source


def domain_counts(access: Access) -> list[dict[str, Any]]:
    """Name and counts of each ready domain, in a handful of queries however many there are."""
    benchmark = access.benchmark
    rows = dict(benchmark.domains.ready().values_list("pk", "name"))
    version = CorpusVersion.objects.current(benchmark)
    # None of a gold that is still loading: that one is not current, and has all its labels.
    labels = Judgment.objects.filter(query__domain__in=rows)
    # Who votes learns what people said alone (judgments/shown.py).
    added = labels.standing()
    without_text = Passage.objects.in_version(version).filter(text=None)
    by_query = "query__domain_id"
    # Passages by domain: as counted once; of a layer that nobody has counted yet, counted now.
    layers = CorpusVersion.objects.filter(pk__in=version.layers if version else [])
    stored = dict(layers.values_list("pk", "passage_counts"))
    new = [pk for pk, counts in stored.items() if counts is None]
    passages = _by(Passage.objects.filter(version__in=new), "domain_id") if new else Counter[int]()
    for known in stored.values():
        passages.update({int(domain): count for domain, count in (known or {}).items()})
    counts = {
        "queries": _by(Query.objects.filter(domain__in=rows), "domain_id"),
        "passages": passages,
        "without_text": _by(without_text, "domain_id"),
        "original": _by(labels.original().filter(label__gt=0), by_query),
        "added": _by(
            added.filter(source__in=(Source.EXPERT, Source.HUMAN)) if access.is_voter else added,
            by_query,
        ),
    }
    return [
        {"name": name, **{what: found[pk] for what, found in counts.items()}}
        for pk, name in rows.items()
    ]


def count_passages(version: CorpusVersion) -> int:
    """Count the own passages of a version that is ready, and keep the figures for `domain_counts`.

    Returns how many have a text.
    """
    own = Passage.objects.filter(version=version)
    counts = _by(own, "domain_id")
    CorpusVersion.objects.filter(pk=version.pk).update(passage_counts=counts)
    return sum(counts.values()) - own.filter(text=None).count()


def passages_counted(version: CorpusVersion | None, domain: Domain | None = None) -> int | None:
    """Passages of the version, through its layers, in the domain or in all, as counted once.

    None while one of its layers is not counted yet.
    """
    if version is None:
        return 0
    layers = CorpusVersion.objects.filter(pk__in=version.layers)
    total = 0
    for counts in layers.values_list("passage_counts", flat=True):
        if counts is None:
            return None
        total += counts.get(str(domain.pk), 0) if domain else sum(counts.values())
    return total


def _by(rows: QuerySet[Any, Any], key: str) -> Counter[int]:
    """Of all columns, not of the key: so the index on ids and domains is enough to count."""
    return Counter(dict(rows.order_by().values_list(key).annotate(n=Count("*"))))
