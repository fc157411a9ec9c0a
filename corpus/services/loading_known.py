"""What texts are here already: in the layers that a load extends, and in its own version.

Looked up without an order: to save a sort, SQLite would walk whole domains by their row ids.
"""

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import QuerySet

from corpus.importers.rows import DocumentRow, Key, PassageRow
from corpus.models import Document, Passage
from corpus.services.loading_context import LoadContext, by_domain

ModelT = TypeVar("ModelT", Passage, Document)


def known_passages(context: LoadContext, keys: Iterable[Key]) -> dict[Key, Passage]:
    """The passages of these keys that are here."""
    return _known(Passage.objects.all(), "pid", context, keys)


def known_pages(context: LoadContext, keys: Iterable[Key]) -> dict[Key, Document]:
    """The pages of these keys that are here."""
    return _known(Document.objects.all(), "doc_id", context, keys)


def _known(
    rows: QuerySet[ModelT], name: str, context: LoadContext, keys: Iterable[Key]
) -> dict[Key, ModelT]:
    return {
        (domain, getattr(row, name)): row
        for domain, names in by_domain(keys).items()
        if domain in context.domains
        for row in rows.filter(
            version_id__in=context.layers,
            domain_id=context.domains[domain],
            **{f"{name}__in": names},
        ).order_by()
    }


def same_text(found: Passage | Document, row: PassageRow | DocumentRow) -> bool:
    """Whether the row says nothing else than what is stored; what it leaves out agrees."""
    return (
        found.text == row.text
        and row.title in (None, found.title)
        and row.source_url in (None, found.source_url)
        and (isinstance(found, Document) or _agrees(row, found))
    )


def _agrees(row: PassageRow | DocumentRow, found: Passage) -> bool:
    return not isinstance(row, PassageRow) or row.extra in (None, found.extra)
