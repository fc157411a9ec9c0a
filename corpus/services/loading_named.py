"""Row ids of the passages and queries that gold, aspects, pairs and rankings name."""

from collections.abc import Iterable

from django.db.models import Q

from corpus.importers.rows import Key
from corpus.models import Passage, Query
from corpus.services.loading_context import LoadContext, by_domain, chunks
from corpus.services.loading_gather import Gathered
from corpus.services.loading_pace import Pace


def resolve_passages(context: LoadContext, gathered: Gathered, pace: Pace) -> None:
    """Fill `context.passages`; gold without text becomes a passage without it, in our version."""
    named = gathered.gold_passage_keys()
    paired = {(row.domain, row.pid) for row in gathered.pairs.values()}
    loaded = look_up(context, named.keys() | paired)
    missing = [key for key in named if key not in context.passages]
    if missing and not context.tally.problems:
        _write_stubs(context, missing, pace)
        look_up(context, missing)
    without = [key for key in named if key not in loaded]
    context.tally.add("passages", added=len(missing), present=len(without) - len(missing))
    for domain, pid in without:
        context.tally.odd("gold passages without text", f"{domain}: {pid}")


def look_up(context: LoadContext, keys: Iterable[Key]) -> set[Key]:
    """Note the row ids of these passages; return the keys of those whose text is loaded."""
    loaded = set()
    for domain, pids in by_domain(keys).items():
        for batch in chunks(pids if domain in context.domains else []):
            found = Passage.objects.filter(
                version_id__in=context.layers, domain_id=context.domains[domain], pid__in=batch
            )
            found = found.order_by()  # else SQLite walks the domain by pk, so as not to sort
            rows = found.annotate(loaded=Q(text__isnull=False)).values_list("pid", "pk", "loaded")
            context.passages.update({(domain, pid): pk for pid, pk, _ in rows})
            loaded |= {(domain, pid) for pid, _, has_text in rows if has_text}
    return loaded


def known_queries(context: LoadContext, keys: Iterable[Key]) -> dict[Key, int]:
    """Row ids of those of these queries that are here."""
    return {
        (domain, qid): pk
        for domain, qids in by_domain(keys).items()
        for batch in chunks(qids if domain in context.domains else [])
        for qid, pk in Query.objects.filter(domain_id=context.domains[domain], qid__in=batch)
        .order_by()
        .values_list("qid", "pk")
    }


def known_ids(context: LoadContext, keys: Iterable[Key]) -> set[Key]:
    """Those of these passages that the corpus version which is ranked holds."""
    return {
        (domain, pid)
        for domain, pids in by_domain(keys).items()
        for batch in chunks(pids if domain in context.domains else [])
        for pid in Passage.objects.filter(
            version_id__in=context.ranked_layers, domain_id=context.domains[domain], pid__in=batch
        )
        .order_by()
        .values_list("pid", flat=True)
    }


def _write_stubs(context: LoadContext, keys: list[Key], pace: Pace) -> None:
    with pace.writing(context, 0):
        version = context.own_version().pk
        domains = {name: context.domain(name) for name in {domain for domain, _ in keys}}
    values = ((version, domains[domain], pid) for domain, pid in keys)
    pace.write(context, Passage, ("version_id", "domain_id", "pid"), values)
