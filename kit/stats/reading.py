"""Ratings from files: CSV or TSV with one label a line or one rater a column, and qrels."""

import csv
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from kit.stats.ratings import Level, Ratings, from_triples

COLUMNS = ("item", "rater", "label")
Form = Literal["long", "wide", "qrels"]
FORMS: tuple[Form, ...] = ("long", "wide", "qrels")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)

Label = str | int | float


class ReadError(ValueError):
    """What is wrong, in which file, line (1 is the header; None for the whole) and field."""

    def __init__(
        self, message: str, *, line: int | None = None, field: str = "", file: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.line, self.field, self.file = message, line, field, file

    @property
    def where(self) -> str:
        """File, line and field, as far as they are known."""
        line = f":{self.line}" if self.line else ""
        return f"{self.file}{line} {self.field}".rstrip()


@dataclass(frozen=True)
class Layout:
    """Where a file holds what; names of columns are as in its header, in any case.

    `item` names one column or several. In the `wide` form every column that is neither item nor
    truth is a rater, unless `raters` names them, and without `item` a line is one. `truth` is a
    column of known labels, or "". A qrels file has no header and is one rater.
    """

    form: Form = "long"
    item: tuple[str, ...] = ()
    rater: str = "rater"
    label: str = "label"
    raters: tuple[str, ...] = ()
    truth: str = ""


LONG = Layout()


class Row(NamedTuple):
    """A label as it was written, "" where it is missing; `truth` is the item's known label."""

    line: int
    item: Hashable
    rater: str
    label: str
    truth: str = ""
    file: str = ""


@dataclass(frozen=True, eq=False)
class RatingFile:
    """The ratings, and how many lines gave no label (an empty field is a missing rating).

    `truth` holds the known labels of items, where a column gives them.
    """

    ratings: Ratings
    n_missing: int
    truth: dict[Hashable, Label]


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """Lines of UTF-8, with or without a byte order mark; ReadError names the line that is none."""
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ReadError("This is not UTF-8.", line=number) from error


def read_ratings(
    lines: Iterable[str], level: Level, *, categories: Sequence[str] | None = None
) -> RatingFile:
    """The ratings of one file with the columns item, rater and label; see `ratings_of`."""
    return ratings_of(read_rows(lines), level, categories=categories)


def read_rows(
    lines: Iterable[str], layout: Layout = LONG, *, rater: str = "", file: str = ""
) -> Iterator[Row]:
    """The labels of one file in its order. Raises ReadError at the first line that is wrong.

    With `rater` the whole file is of that one rater, and a long file needs no column for it.
    """
    try:
        if layout.form == "qrels":
            rows = _qrels(lines, rater)
        elif layout.form == "wide":
            rows = _wide(*_table(lines), layout)
        else:
            rows = _long(*_table(lines), layout, rater)
        for row in rows:
            yield row._replace(file=file)
    except ReadError as error:
        error.file = file
        raise


def ratings_of(
    rows: Iterable[Row],
    level: Level,
    *,
    categories: Sequence[str] | None = None,
    cut: float | None = None,
) -> RatingFile:
    """The ratings of these rows; `categories` is the whole scale in its order, where it is known.

    On nominal level a label is its text. On the others labels are numbers, placed at their value,
    none below zero on ratio level; ordinal labels may be words if `categories` gives their order.
    With `cut` labels are grades, and become 1 from the cut on, else 0. Raises ReadError at the
    first row that cannot be taken as it stands.
    """
    scale = _Scale(level, categories) if cut is None else _Cut(cut)
    first: dict[tuple[Hashable, str], Row] = {}
    triples: list[tuple[Hashable, str, Label]] = []
    truth: dict[Hashable, tuple[Label, Row]] = {}
    for row in rows:
        before = first.setdefault((row.item, row.rater), row)
        if before is not row:
            item, line = shown(row.item), before.line
            message = f"Rater {row.rater!r} has labelled item {item!r} in line {line} already."
            raise ReadError(message, line=row.line, field="rater", file=row.file)
        if row.label:
            triples.append((row.item, row.rater, scale.label(row.label, row)))
        if row.truth:
            known = scale.label(row.truth, row, "truth")
            given, where = truth.setdefault(row.item, (known, row))
            if given != known:
                message = f"Line {where.line} gives {given!r} as the truth of this item."
                raise ReadError(message, line=row.line, field="truth", file=row.file)
    if not first:
        raise ReadError("There is no rating in this file.", line=1)
    known_labels = {label for label, _ in truth.values()}
    try:
        ordered, scores = scale.order({label for _, _, label in triples} | known_labels)
        ratings = from_triples(triples, categories=ordered, scores=scores)
    except ValueError as error:
        raise ReadError(str(error), field="label") from error
    labels = {item: label for item, (label, _) in truth.items()}
    return RatingFile(ratings, len(first) - len(triples), labels)


def shown(item: Hashable) -> str:
    """An item of several columns as people read it."""
    return " ".join(map(str, item)) if isinstance(item, tuple) else str(item)


def _qrels(lines: Iterable[str], rater: str) -> Iterator[Row]:
    for line, text in enumerate(lines, start=1):
        parts = text.split()
        if not parts:
            continue
        if len(parts) != 4:
            message = "Four columns are needed: query id, 0, passage id, label."
            raise ReadError(message, line=line)
        yield Row(line, (parts[0], parts[2]), rater, parts[3])


def _table(lines: Iterable[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header and every line that holds something; tab-separated where the header has tabs."""
    lines = iter(lines)
    start = next(lines, "")
    delimiter = "\t" if "\t" in start else ","
    reader = csv.reader(chain([start], lines), delimiter=delimiter, strict=True)

    def rows() -> Iterator[tuple[int, list[str]]]:
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                message = f"This is not CSV: {error}."
                raise ReadError(message, line=reader.line_num) from error
            if row is None:
                return
            yield reader.line_num, [field.strip() for field in row]

    found = rows()
    header = next(found, (1, []))[1]

    def body() -> Iterator[tuple[int, list[str]]]:
        for line, row in found:
            if not any(row):
                continue
            if len(row) != len(header):
                message = f"There are {len(row)} fields, the header names {len(header)}."
                raise ReadError(message, line=line)
            yield line, row

    return header, body()


def _long(
    header: list[str], rows: Iterable[tuple[int, list[str]]], layout: Layout, rater: str
) -> Iterator[Row]:
    items = layout.item or ("item",)
    needed = [*items, *([] if rater else [layout.rater]), layout.label]
    at = {name: _column(header, name, needed) for name in needed}
    truth = _column(header, layout.truth, needed) if layout.truth else None
    for line, row in rows:
        for name in needed[:-1]:
            if not row[at[name]]:
                raise ReadError("This field is empty.", line=line, field=name)
        item = tuple(row[at[name]] for name in items)
        yield Row(
            line,
            item if len(item) > 1 else item[0],
            rater or row[at[layout.rater]],
            row[at[layout.label]],
            "" if truth is None else row[truth],
        )


def _wide(
    header: list[str], rows: Iterable[tuple[int, list[str]]], layout: Layout
) -> Iterator[Row]:
    named = (*layout.item, *layout.raters, *((layout.truth,) if layout.truth else ()))
    at = {name: _column(header, name, named) for name in named}
    taken = {at[name] for name in named}
    raters = [at[name] for name in layout.raters]
    raters = raters or [column for column in range(len(header)) if column not in taken]
    names = [header[column] for column in raters]
    if len(set(names)) < len(names) or "" in names:
        raise ReadError("Every rater needs a name of its own in the header.", line=1)
    if not raters:
        raise ReadError("No column is left for a rater.", line=1)
    truth = at[layout.truth] if layout.truth else None
    for number, (line, row) in enumerate(rows, start=1):
        item = tuple(row[at[name]] for name in layout.item) or (str(number),)
        if "" in item:
            field = layout.item[item.index("")]
            raise ReadError("This field is empty.", line=line, field=field)
        key = item if len(item) > 1 else item[0]
        known = "" if truth is None else row[truth]
        for column, name in zip(raters, names, strict=True):
            yield Row(line, key, name, row[column], known)


def _column(header: list[str], name: str, needed: Sequence[str]) -> int:
    """Where this column is, whatever its case."""
    names = [each.lower() for each in header]
    wanted = name.lower()
    if names.count(wanted) != 1:
        found = "twice" if wanted in names else "missing"
        *others, last = needed
        listed = f"{', '.join(others)} and {last}" if others else last
        message = f"The column is {found}; the header must name {listed}."
        raise ReadError(message, line=1, field=name)
    return names.index(wanted)


class _Scale:
    """How a text becomes a label, and which labels there are in which order."""

    def __init__(self, level: Level, categories: Sequence[str] | None) -> None:
        self.level = level
        self.given: list[Label] | None = None
        texts = [text.strip() for text in categories or ()]
        numbers = [_number(text) for text in texts]
        self.is_numeric = level != "nominal" and None not in numbers
        if level in ("interval", "ratio") and not self.is_numeric:
            raise ReadError(f"Categories on {level} level are numbers.")
        if texts:
            self.given = [number for number in numbers if number is not None]
            if not self.is_numeric:
                self.given = list(texts)
        if len(set(self.given or ())) < len(texts) or "" in texts:
            raise ReadError("The categories name a label twice, or an empty one.")

    def label(self, text: str, row: Row, field: str = "label") -> Label:
        """The label that this field of the row gives."""
        number = _number(text) if self.is_numeric else None
        if self.is_numeric and number is None:
            hint = "; or give the categories in their order" if self.level == "ordinal" else ""
            message = f"{text!r} is no number, as {self.level} labels are{hint}."
            raise ReadError(message, line=row.line, field=field, file=row.file)
        if self.level == "ratio" and number is not None and number < 0:
            message = f"{text!r} is below zero, as no ratio label is."
            raise ReadError(message, line=row.line, field=field, file=row.file)
        label: Label = text if number is None else number
        if self.given is not None and label not in self.given:
            message = f"{text!r} is not one of the categories given."
            raise ReadError(message, line=row.line, field=field, file=row.file)
        return label

    def order(self, seen: set[Label]) -> tuple[list[Label], list[float] | None]:
        """The scale in its order, and its labels' places on a line (None: 0, 1, 2, ...)."""
        numbers = sorted(label for label in seen if not isinstance(label, str))
        words = sorted(label for label in seen if isinstance(label, str))
        ordered: list[Label] = self.given if self.given is not None else [*numbers, *words]
        if not self.is_numeric or (self.given is not None and self.level == "ordinal"):
            return ordered, None
        return ordered, [float(label) for label in ordered]


class _Cut:
    """Grades as two labels: 1 from the cut on, else 0."""

    def __init__(self, cut: float) -> None:
        self.cut = cut

    def label(self, text: str, row: Row, field: str = "label") -> Label:
        """On which side of the cut the grade of this field is."""
        number = _number(text)
        if number is None:
            message = f"{text!r} is no number, as grades that are cut are."
            raise ReadError(message, line=row.line, field=field, file=row.file)
        return int(number >= self.cut)

    def order(self, seen: set[Label]) -> tuple[list[Label], list[float] | None]:
        """Both labels, also where only one occurs."""
        return [0, 1], None


def is_number(text: str) -> bool:
    """Whether a label is taken as a number above nominal level."""
    return _number(text) is not None


def _number(text: str) -> int | float | None:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
