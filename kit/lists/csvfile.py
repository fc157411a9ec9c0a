"""Tables as CSV that spreadsheets open without running anything."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kit.lists.report_tables import ReportTable, csv_header, csv_rows

if TYPE_CHECKING:
    from django.http import StreamingHttpResponse

# What a spreadsheet takes for the beginning of a formula; white space before it does not help.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_ROWS_AT_ONCE = 500


class _Echo:
    """Gives back what is written to it."""

    def write(self, value: str) -> str:
        return value


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> "StreamingHttpResponse":
    """Send rows as they come, as a file of this name; texts that look like formulas are quoted."""
    from django.http import StreamingHttpResponse  # a command that writes CSV needs no web server

    response = StreamingHttpResponse(_lines(header, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def table_response(name: str, table: ReportTable) -> "StreamingHttpResponse":
    """A table of a report as such a file, in full precision and with its intervals."""
    return csv_response(name, csv_header(table), csv_rows(table))


def named_table_response(
    prefix: str, tables: "Iterable[ReportTable]", name: str
) -> "StreamingHttpResponse":
    """The table of this name among those of a report; raises Http404 where there is none."""
    from django.http import Http404

    for table in tables:
        if table.name == name:
            return table_response(f"{prefix}-{name}.csv", table)
    raise Http404("No such table.")


def harmless(value: Any) -> Any:
    """The value, its text behind a quote sign where a spreadsheet would calculate with it.

    Numbers stay numbers, with all their digits; None is an empty cell.
    """
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" \u00a0").startswith(_FORMULA) else value


def _lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    part = [writer.writerow(list(header))]
    for row in rows:
        part.append(writer.writerow([harmless(value) for value in row]))
        if len(part) >= _ROWS_AT_ONCE:
            yield "".join(part)
            part = []
    yield "".join(part)
