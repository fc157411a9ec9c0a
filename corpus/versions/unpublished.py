"""Removing corpus versions and rows that were never published."""

from collections.abc import Callable
from typing import Any, Final

from django.db import connection, models, transaction

from corpus.models import CorpusVersion, Crosswalk, Document, Passage, VersionState

_CHUNK: Final = 2000


def drop_version(
    version: CorpusVersion, *, before_each: Callable[[], object] = lambda: None
) -> None:
    """Remove a version that was never published, its rows in short transactions.

    `before_each` is called before each of them; what it raises ends the work.
    """
    for rows in (Crosswalk, Passage, Document):
        drop_rows(rows, before_each=before_each, version=version)
    CorpusVersion.objects.filter(pk=version.pk, state=VersionState.LOADING).delete()


def drop_rows(
    model: type[models.Model], *, before_each: Callable[[], object] = lambda: None, **owner: Any
) -> None:
    """Remove rows that were never published, in short transactions."""
    everything = getattr(model, "everything", model._default_manager)
    rows = everything.filter(**owner)
    while True:
        before_each()
        with transaction.atomic():
            keys = list(rows.order_by("pk").values_list("pk", flat=True)[:_CHUNK])
            if not keys:
                return
            # Nothing refers to rows that were never published, so nothing needs collecting.
            everything.filter(pk__in=keys)._raw_delete(connection.alias)
