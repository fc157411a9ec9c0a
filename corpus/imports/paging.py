"""Which numbered passages are pages: asked of their texts where a format numbers them.

The version notes those that are none (`recipe["apart"]`), of all layers that it extends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from django.db import transaction
from django.db.models import F, Max, Min
from django.db.models.functions import Right, Substr

from corpus.imports.context import LoadContext, chunks
from corpus.imports.texts import Fills
from corpus.marcus.following import why_apart
from corpus.marcus.parts import page_of
from corpus.models import CorpusVersion, Passage

REBUILT: Final = "pages rebuilt from numbered passages, whose texts go on from one to the next"
NOT_LOADED: Final = "their texts are not loaded"
# An address alone does not say in which order its passages stand, nor that they are all of it.
SHARED: Final = (
    "addresses of several passages without a page, each of which stays a page of its own"
)
APART: Final = "numbered passages that stay apart, not one page: {}"
# How much of a text's beginning and end is looked at, and pieces whose ends are in memory.
_ENDS: Final = 1_000
_AT_ONCE: Final = 5_000
# Number and key of each piece, by page.
Pages = Mapping[str, list[tuple[int, int]]]


def note_pages(context: LoadContext, fills: Fills) -> None:
    """Note in the load's own version which numbered passages are no page; count both kinds."""
    version = context.version
    if version is None or context.tally.problems:
        return
    for address in _shared_addresses(version):
        context.tally.odd(SHARED, address)
    if not version.numbers_pages:
        return
    filled = {pk: row.text for pk, row, _ in fills.values()}
    apart = []
    for page, why in _looked_at(_numbered(version), filled):
        context.tally.odd(APART.format(why) if why else REBUILT, page)
        apart += [page] if why else []
    if apart or version.apart:
        with transaction.atomic():
            context.hold()
            version.recipe["apart"] = sorted(apart)
            version.save(update_fields=["recipe"])


def _shared_addresses(version: CorpusVersion) -> Iterator[str]:
    """Addresses that several passages of this load have, which belong to no given page and are no
    numbered pieces of one."""
    rows = Passage.objects.filter(version=version, document=None).exclude(source_url="")
    groups = rows.order_by().values("domain_id", "source_url")
    found = groups.annotate(first=Min("pid"), last=Max("pid")).exclude(first=F("last"))
    for each in found.order_by("source_url").iterator(chunk_size=_AT_ONCE):
        pages = {page_of(each[name])[0] for name in ("first", "last")}
        if len(pages) > 1 or not version.numbers_pages:
            yield each["source_url"]


def _numbered(version: CorpusVersion) -> Iterator[Pages]:
    """What ids name as pages of two passages or more, domain by domain: of ids alone, which an
    index gives without the texts."""
    layers = CorpusVersion.objects.filter(pk__in=version.layers)
    numbered = [each.pk for each in layers if each.numbers_pages]
    rows = Passage.objects.filter(version_id__in=numbered).order_by()
    for domain in version.benchmark.domains.values_list("pk", flat=True):
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        of_domain = rows.filter(domain_id=domain).values_list("pk", "pid")
        for pk, pid in of_domain.iterator(chunk_size=_AT_ONCE):
            page, number = page_of(pid)
            if page != pid:
                found[page].append((number, pk))
        yield {page: pieces for page, pieces in found.items() if len(pieces) > 1}


def _looked_at(found: Iterable[Pages], filled: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Each page, and why it is none, "" where it is one."""
    for pages in found:
        group: list[tuple[str, list[tuple[int, int]]]] = []
        for each in pages.items():
            group.append(each)
            if sum(len(pieces) for _, pieces in group) >= _AT_ONCE:
                yield from _of_group(group, filled)
                group = []
        yield from _of_group(group, filled)


def _of_group(
    group: list[tuple[str, list[tuple[int, int]]]], filled: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    """Of passages that have no page but the one that their ids name."""
    ends = {}
    for part in chunks(pk for _, pieces in group for _, pk in pieces):
        rows = Passage.objects.filter(pk__in=part, document=None).order_by()
        cut = rows.annotate(head=Substr("text", 1, _ENDS), tail=Right("text", _ENDS))
        ends.update({pk: (head, tail) for pk, head, tail in cut.values_list("pk", "head", "tail")})
    ends.update({pk: (text[:_ENDS], text[-_ENDS:]) for pk, text in filled.items() if pk in ends})
    for page, pieces in group:
        known = [(number, *ends[pk]) for number, pk in pieces if pk in ends]
        if len(known) > 1:
            is_loaded = all(head is not None for _, head, _ in known)
            yield page, why_apart(known) if is_loaded else NOT_LOADED
