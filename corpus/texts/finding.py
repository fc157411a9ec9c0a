"""Finding texts by their words or by the beginning of their ids, without looking at all of them."""

import re
import sys
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from corpus.models import Benchmark, CorpusVersion, Document, Domain, Passage
from corpus.texts import index as textindex

# What a search finds at most, by words and by id each; lists then say "more than".
MAX_FOUND = 1_001
_MAX_WORDS = 8


def find_passages(
    text: str, *, version: CorpusVersion | None, domain: Domain | None = None
) -> QuerySet[Passage]:
    """Passages of the version that hold every word, or whose id begins with the text."""
    found = passages_called(text, version=version, domain=domain)
    if version is not None:
        found += textindex.matching(
            text,
            versions=version.layers,
            domain=domain.pk if domain else None,
            most=MAX_FOUND,
        )
    return Passage.objects.filter(one_of(found))


def passages_called(
    prefix: str, *, version: CorpusVersion | None, domain: Domain | None = None
) -> list[int]:
    """Ids of passages of the version whose own id begins with the prefix."""
    rows = _here(Passage.objects.all(), version, domain)
    return _first(rows.filter(begins_with("pid", prefix)))


def passages_named(prefix: str, *, benchmark: Benchmark) -> list[int]:
    """The same in every corpus version that labels can be of."""
    versions = CorpusVersion.objects.choices(benchmark)
    return [pk for each in versions for pk in passages_called(prefix, version=each)]


def documents_titled(
    text: str, *, version: CorpusVersion | None, domain: Domain | None = None
) -> list[int]:
    """Ids of pages of the version whose title holds every word, anywhere and in any case.

    Looks at every title: pages are many fewer than passages.
    """
    rows = _here(Document.objects.exclude(title=""), version, domain)
    for word in text.split()[:_MAX_WORDS]:
        rows = rows.filter(title__icontains=word)
    return _first(rows)


def find_documents(
    text: str, *, version: CorpusVersion | None, domain: Domain | None = None
) -> QuerySet[Document]:
    """Pages whose id begins with the text, whose title holds every word of it, or a passage."""
    # Ids of pages of the version whose own id begins with the prefix.
    rows = _here(Document.objects.all(), version, domain)
    called = _first(rows.filter(begins_with("doc_id", text)))
    called += documents_titled(text, version=version, domain=domain)
    hold = find_passages(text, version=version, domain=domain).exclude(document=None)
    return Document.objects.filter(one_of(called) | Q(pk__in=hold.values("document")))


def query_matches(text: str, *, benchmark: Benchmark, at: str = "") -> Q:
    """A condition on queries: called so, or every word stands in the text or the id.

    `at` leads from the rows that are asked to their query ("query__").
    """
    condition = Q()
    for word in text.split()[:_MAX_WORDS]:
        condition &= Q(**{f"{at}text__icontains": word}) | Q(**{f"{at}qid__icontains": word})
    return condition | query_called(text, benchmark=benchmark, at=at)


def query_called(prefix: str, *, benchmark: Benchmark, at: str = "") -> Q:
    """A condition on queries: the id, or the name on the screens (biology-12), begins so."""
    called = begins_with(f"{at}qid", prefix)
    for pk, name in benchmark.domains.values_list("pk", "name"):
        if prefix.startswith(f"{name}-"):
            own = begins_with(f"{at}qid", prefix.removeprefix(f"{name}-"))
            called |= Q(**{f"{at}domain": pk}) & own
    return called


def begins_with(name: str, prefix: str) -> Q:
    """A condition that an index on the column answers, on both databases.

    Ids are compared by code points; PostgreSQL has its columns collated so (migration 0002).
    """
    return Q(**{f"{name}__gte": prefix}) & (
        Q(**{f"{name}__lt": after}) if (after := _after(prefix)) else Q()
    )


def one_of(pks: Collection[int], name: str = "pk") -> Q:
    """A condition for thousands of ids."""
    if connection.vendor == "postgresql":
        return Q(**{f"{name}__in": list(pks)})
    # As one parameter: SQLite is slow with thousands of them.
    listed = "[" + ",".join(map(str, pks)) + "]"
    return Q(**{f"{name}__in": RawSQL("SELECT value FROM json_each(%s)", [listed])})


def _after(prefix: str) -> str:
    """The first text, by code points, behind all that begin with the prefix; "" if none is."""
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return ""
    following = ord(kept[-1]) + 1
    # Surrogates are no characters.
    return kept[:-1] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)


def _here(
    rows: QuerySet[Any, Any], version: CorpusVersion | None, domain: Domain | None
) -> QuerySet[Any, Any]:
    """Those of the version, in the domain or in all."""
    if version is None:
        return rows.none()
    # Named one by one, because the index on ids has the domain before the id.
    domains = [domain] if domain else list(Domain.objects.filter(benchmark=version.benchmark_id))
    return rows.filter(version_id__in=version.layers, domain__in=domains)


def _first(rows: QuerySet[Any, Any]) -> list[int]:
    return list(rows.order_by().values_list("pk", flat=True)[:MAX_FOUND])


# Characters of a passage that are shown around its densest matches.
_EXCERPT = 420
_WORD = re.compile(r"[^\W_]+")


def excerpt(text: str, words: frozenset[str]) -> list[tuple[str, bool]]:
    """The part of a text where the words stand densest, as pieces; True where one is marked."""
    found = [(m.start(), m.end()) for m in _WORD.finditer(text) if m[0].lower() in words]
    # Where the most of them lie close together.
    best, most, last = 0, 0, 0
    for first, (low, _) in enumerate(found):
        while last < len(found) and found[last][1] <= low + _EXCERPT:
            last += 1
        if last - first > most:
            best, most = low, last - first
    start = max(0, best - 60) if best > 60 else 0
    end = min(len(text), start + _EXCERPT)
    pieces, at = [("… " if start else "", False)], start
    for low, high in found:
        if low >= start and high <= end:
            pieces += [(text[at:low], False), (text[low:high], True)]
            at = high
    pieces.append((text[at:end] + (" …" if end < len(text) else ""), False))
    return [piece for piece in pieces if piece[0]]
