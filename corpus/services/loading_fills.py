"""What is known by id alone and gets its text; where passages stand in their pages.

Filling changes rows that people see, so it is part of the last transaction of a load.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db import connection, models

from corpus.importers.rows import Key, PassageRow
from corpus.models import Document, Passage
from corpus.services.indexing import index_filled
from corpus.services.loading_context import Overtaken


@dataclass(frozen=True, slots=True)
class Cut:
    """The page a passage is from and, where it stands there exactly once, its [start, end)."""

    document_id: int | None = None
    start: int | None = None
    end: int | None = None

    @property
    def columns(self) -> tuple[int | None, int | None, int | None]:
        """document_id, start, end."""
        return self.document_id, self.start, self.end


# Row id of a passage without text, the row that brings its text, and its place in a page.
Fills: TypeAlias = dict[Key, tuple[int, PassageRow, Cut]]
PASSAGE = ("title", "source_url", "text", "extra", "document_id", "start", "end")


def find_cut(page: Document, text: str) -> Cut:
    """Where a passage stands in its page, in code points; nowhere unless exactly once."""
    start = page.text.find(text) if text else -1
    if start < 0 or page.text.find(text, start + 1) >= 0:
        return Cut(page.pk)
    return Cut(page.pk, start, start + len(text))


def passage_columns(row: PassageRow, cut: Cut) -> tuple[Any, ...]:
    """A row's values in the order of PASSAGE."""
    extra = as_json(row.extra)
    return row.title or "", row.source_url or "", row.text, extra, *cut.columns


def fill_passages(fills: Mapping[Key, tuple[int, PassageRow, Cut]]) -> None:
    """Give passages that were known by id alone their text, and let words find it.

    Raises Overtaken if another load gave one of them a text meanwhile.
    """
    rows = [(*passage_columns(row, cut), pk) for pk, row, cut in fills.values()]
    fill_rows(Passage, PASSAGE, rows, empty="text IS NULL")
    index_filled([pk for pk, _, _ in fills.values()])


def fill_rows(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str
) -> None:
    """Update rows (values, then the row's id) where they are still `empty`, a condition in SQL.

    Raises Overtaken if one of them is not.
    """
    if not rows:
        return
    quote = connection.ops.quote_name
    values = ", ".join(f"{quote(name)} = %s" for name in columns)
    # Names come from the model, values go through the driver.
    sql = f"UPDATE {quote(model._meta.db_table)} SET {values} WHERE id = %s AND {empty}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)
        if cursor.rowcount < len(rows):
            raise Overtaken


def as_json(value: object) -> str | None:
    """What a JSON column stores; None where nothing was given."""
    return None if value is None else json.dumps(value)


def json_list(values: Iterable[object] | None) -> str:
    """What a column of lists stores."""
    return json.dumps(list(values or ()))
