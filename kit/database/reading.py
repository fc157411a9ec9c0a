"""Streaming a large part of a table in the order of its keys."""

from collections.abc import Iterator
from typing import Any

from django.db import connection, models
from django.db.models import Count, Max, Min

# Rows fetched at a time: what is held, whatever the size of the table.
CHUNK = 1_000


def in_key_order(
    rows: models.QuerySet[Any], *columns: str, part: models.QuerySet[Any]
) -> Iterator[tuple[Any, ...]]:
    """The columns of every row by ascending primary key; holds CHUNK rows.

    PostgreSQL plans a cursor for its first rows: it would walk the whole table in the order of
    keys, looking for some of them. So it is told between which keys they lie: those of `part`,
    which holds all `rows` and is best told by an index alone.
    """
    if connection.vendor == "postgresql":
        # Asked for the ends alone, it would walk the table from both of its ends, too.
        ends = part.order_by().aggregate(first=Min("pk"), last=Max("pk"), count=Count("*"))
        if not ends["count"]:
            return iter(())
        rows = rows.filter(pk__range=(ends["first"], ends["last"]))
    return rows.order_by("pk").values_list(*columns).iterator(chunk_size=CHUNK)
