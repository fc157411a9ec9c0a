"""Small tables that people upload as CSV, read line by line; what is wrong is named by its line."""

import csv
from collections.abc import Iterable, Iterator, Sequence

from kit.errors import Refused
from kit.stats.reading import ReadError, decoded


def csv_rows(lines: Iterable[bytes], columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows under a header that names at least `columns`; texts as they stand.

    Raises Refused (field "file") for what is no UTF-8 or CSV, a missing column, and rows that do
    not fit the header. A field may have 131,072 characters, as Python's csv has it.
    """
    reader = csv.reader(decoded(lines), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        missing = [name for name in columns if name not in header]
        if missing:
            raise Refused(f"Line 1: the header lacks {', '.join(missing)}.", field="file")
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            if len(row) != len(header):
                raise Refused(
                    f"Line {reader.line_num}: {len(row)} fields, the header names {len(header)}.",
                    field="file",
                )
            if "\x00" in "".join(row):
                raise Refused(f"Line {reader.line_num}: there is a zero byte.", field="file")
            yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise Refused(f"Line {reader.line_num}: this is no CSV ({error}).", field="file") from None
    except ReadError as error:
        raise Refused(f"Line {error.line}: {error.message}", field="file") from None
