"""Streaming a large part of a table in the order of its keys."""

from collections.abc import Iterator, Sequence
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
    for chunk in columns_in_key_order(rows, *columns, part=part):
        yield from zip(*chunk, strict=True)


def columns_in_key_order(
    rows: models.QuerySet[Any], *columns: str, part: models.QuerySet[Any]
) -> Iterator[list[Sequence[Any]]]:
    """The same as the columns of CHUNK rows at a time.

    Rows are as the driver gives them and made once; what a column's type makes of its values is
    done a column at a time, and not at all where all of them are null.
    """
    if connection.vendor == "postgresql":
        # Asked for the ends alone, it would walk the table from both of its ends, too.
        ends = part.order_by().aggregate(first=Min("pk"), last=Max("pk"), count=Count("*"))
        if not ends["count"]:
            return
        rows = rows.filter(pk__range=(ends["first"], ends["last"]))
    compiler = rows.order_by("pk").values_list(*columns).query.get_compiler(rows.db)
    chunks = compiler.execute_sql(chunked_fetch=True, chunk_size=CHUNK)
    for chunk in chunks:
        found: list[Sequence[Any]] = list(zip(*chunk, strict=True))
        for at, (convert, of) in _conversions(compiler).items():
            if found[at].count(None) < len(found[at]):
                for each in convert:
                    found[at] = [each(value, of, connection) for value in found[at]]
        yield found


def _conversions(compiler: Any) -> Any:
    """Functions by the number of the column, as Django's own iterator finds them."""
    return compiler.get_converters([expression for expression, _, _ in compiler.select])
