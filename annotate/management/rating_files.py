"""Files of ratings on the command line: how one says what they hold, and reading them."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from kit.stats.ratings import Level
from kit.stats.reading import FORMS, Layout, RatingFile, ReadError, Row, decoded, read_rows
from kit.stats.reading import ratings_of as ratings_of_rows


def add_arguments(parser: ArgumentParser) -> None:
    """What `layout_of` and `ratings_of` read."""
    parser.add_argument(
        "--format",
        choices=FORMS,
        default="long",
        help="long: a label a line (the default); wide: a rater a column; both CSV, or"
        " tab-separated where the header has tabs; qrels: query id, 0, passage id, label",
    )
    parser.add_argument(
        "--item",
        metavar="COLUMN[,COLUMN]",
        default="",
        help="the columns that name an item (default: item; in a wide table the line)",
    )
    parser.add_argument("--rater", metavar="COLUMN", default="rater", help="default: rater")
    parser.add_argument("--label", metavar="COLUMN", default="label", help="default: label")
    parser.add_argument(
        "--raters",
        metavar="COLUMN,COLUMN",
        default="",
        help="wide: the columns of labels (default: all others)",
    )
    parser.add_argument(
        "--categories",
        metavar="A,B,C",
        help="the whole scale in its order; by default the labels that occur,"
        " numbers at their value",
    )
    parser.add_argument(
        "--cut", type=_grade, help="labels are grades: from this one on they count as 1, else as 0"
    )


def layout_of(options: dict[str, Any]) -> Layout:
    """Where the files hold what. Raises CommandError for options that do not go together."""
    form = options["format"]
    if options["cut"] is not None and options["categories"]:
        raise CommandError("--cut makes the categories 0 and 1; leave --categories out.")
    if options["raters"] and form != "wide":
        raise CommandError("--raters goes with --format wide.")
    if options["item"] and form == "qrels":
        raise CommandError("--item goes with files that have a header; qrels have none.")
    return Layout(
        form=form,
        item=_names(options["item"]),
        rater=options["rater"],
        label=options["label"],
        raters=_names(options["raters"]),
        truth=options.get("truth") or "",
    )


def rows_of(path: Path, layout: Layout, *, rater: str = "") -> list[Row]:
    """The labels of one file; with `rater` all of them are that one's. Raises CommandError."""
    try:
        with path.open("rb") as file:
            return list(read_rows(decoded(file), layout, rater=rater, file=str(path)))
    except ReadError as error:
        raise CommandError(f"{error.where}: {error.message}") from error
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error


def ratings_of(
    rows: Sequence[Row], level: Level, options: dict[str, Any], path: Path
) -> RatingFile:
    """The ratings of these rows; what is wrong of no one row is said of `path`."""
    categories = options["categories"].split(",") if options["categories"] else None
    try:
        return ratings_of_rows(rows, level, categories=categories, cut=options["cut"])
    except ReadError as error:
        error.file = error.file or str(path)
        raise CommandError(f"{error.where}: {error.message}") from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _grade(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e9:
        raise ArgumentTypeError("give a number")
    return value
