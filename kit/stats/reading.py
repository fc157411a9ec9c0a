"""Ratings from lines of CSV with the columns item, rater and label, one label per line."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kit.stats.ratings import Level, Ratings, from_triples

COLUMNS = ("item", "rater", "label")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)

Label = str | int | float


class ReadError(ValueError):
    """What is wrong, in which line (1 is the header; None for the whole file) and field."""

    def __init__(self, message: str, *, line: int | None = None, field: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.field = message, line, field


@dataclass(frozen=True, eq=False)
class RatingFile:
    """The ratings, and how many lines gave no label (an empty field is a missing rating)."""

    ratings: Ratings
    n_missing: int


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
    """Read the ratings; `categories` is the whole scale in its order, where it is known.

    On nominal level a label is its text. On ordinal and interval level labels are numbers,
    placed at their value; ordinal labels may be words if `categories` gives their order. Raises
    ReadError at the first line that cannot be taken as it stands.
    """
    scale = _Scale(level, categories)
    first_line: dict[tuple[str, str], int] = {}
    triples: list[tuple[str, str, Label]] = []
    for line, item, rater, text in _rows(lines):
        before = first_line.setdefault((item, rater), line)
        if before != line:
            message = f"Rater {rater!r} has labelled item {item!r} in line {before} already."
            raise ReadError(message, line=line, field="rater")
        if text:
            triples.append((item, rater, scale.label(text, line)))
    if not first_line:
        raise ReadError("There is no rating in this file.", line=1)
    try:
        ordered, scores = scale.order({label for _, _, label in triples})
        ratings = from_triples(triples, categories=ordered, scores=scores)
    except ValueError as error:
        raise ReadError(str(error), field="label") from error
    return RatingFile(ratings, len(first_line) - len(triples))


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, str, str, str]]:
    reader = csv.reader(lines, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        at = _columns(header)
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            line = reader.line_num
            if len(row) != len(header):
                message = f"There are {len(row)} fields, the header names {len(header)}."
                raise ReadError(message, line=line)
            item, rater, label = (row[column].strip() for column in at)
            for field, text in (("item", item), ("rater", rater)):
                if not text:
                    raise ReadError("This field is empty.", line=line, field=field)
            yield line, item, rater, label
    except csv.Error as error:
        raise ReadError(f"This is not CSV: {error}.", line=reader.line_num) from error


def _columns(header: list[str]) -> list[int]:
    for name in COLUMNS:
        if header.count(name) != 1:
            found = "twice" if name in header else "missing"
            message = f"The column is {found}; the header must name item, rater and label."
            raise ReadError(message, line=1, field=name)
    return [header.index(name) for name in COLUMNS]


class _Scale:
    """How a text becomes a label, and which labels there are in which order."""

    def __init__(self, level: Level, categories: Sequence[str] | None) -> None:
        self.level = level
        self.given: list[Label] | None = None
        texts = [text.strip() for text in categories or ()]
        numbers = [_number(text) for text in texts]
        self.is_numeric = level != "nominal" and None not in numbers
        if level == "interval" and not self.is_numeric:
            raise ReadError("Categories on interval level are numbers.")
        if texts:
            self.given = [number for number in numbers if number is not None]
            if not self.is_numeric:
                self.given = list(texts)
        if len(set(self.given or ())) < len(texts) or "" in texts:
            raise ReadError("The categories name a label twice, or an empty one.")

    def label(self, text: str, line: int) -> Label:
        """The label that this field gives."""
        number = _number(text) if self.is_numeric else None
        if self.is_numeric and number is None:
            hint = "" if self.level == "interval" else "; or give the categories in their order"
            message = f"{text!r} is no number, as {self.level} labels are{hint}."
            raise ReadError(message, line=line, field="label")
        label: Label = text if number is None else number
        if self.given is not None and label not in self.given:
            message = f"{text!r} is not one of the categories given."
            raise ReadError(message, line=line, field="label")
        return label

    def order(self, seen: set[Label]) -> tuple[list[Label], list[float] | None]:
        """The scale in its order, and its labels' places on a line (None: 0, 1, 2, ...)."""
        numbers = sorted(label for label in seen if not isinstance(label, str))
        words = sorted(label for label in seen if isinstance(label, str))
        ordered: list[Label] = self.given if self.given is not None else [*numbers, *words]
        if not self.is_numeric or (self.given is not None and self.level == "ordinal"):
            return ordered, None
        return ordered, [float(label) for label in ordered]


def _number(text: str) -> int | float | None:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
