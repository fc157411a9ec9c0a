"""Labels of a file of votes: by majority and by Dawid and Skene's model."""

import csv
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from annotate.agreement.aggregating import TIES, aggregate, as_text
from annotate.management.rating_files import add_arguments, layout_of, ratings_of, rows_of
from kit.stats.ratings import Level
from kit.stats.reading import Row, is_number

_FIELDS = ("votes", "majority", "tied", "dawid_skene", "probability")


class Command(BaseCommand):
    help = (
        "Make labels of votes (CSV or TSV, as agreement reads it): the majority's and Dawid and"
        " Skene's, one row an item; with --truth also their accuracy and F1."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="an empty label is a missing vote")
        add_arguments(parser)
        parser.add_argument("--truth", metavar="COLUMN", help="a column of known labels of items")
        parser.add_argument(
            "--ties",
            choices=TIES,
            default="none",
            help="; ".join(f"{name}: {rule}" for name, rule in TIES.items()) + " (default: none)",
        )
        parser.add_argument(
            "--out",
            metavar="FILE.csv",
            type=Path,
            help="where the labels go (default: standard output, the rest to standard error)",
        )
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path, out = options["file"], options["out"]
        layout = layout_of(options)
        if layout.form == "qrels":
            raise CommandError("A qrels file is one rater; votes need a rater for each label.")
        if out and options["json"]:
            raise CommandError("--json prints the labels too; leave --out out.")
        if out and out.resolve() == path.resolve():
            raise CommandError("--out would overwrite the votes. Name another file.")
        rows = rows_of(path, layout)
        found = ratings_of(rows, _level(rows, options), options, path)
        if not found.ratings.n_labels:
            raise CommandError(f"{path}: There is no label in this file.")
        report = aggregate(found, options["ties"])
        if options["json"]:
            result = {"file": str(path), **report}
            self.stdout.write(json.dumps(result, ensure_ascii=False, allow_nan=False))
            return
        names = layout.item or ("item",)
        if out is None:
            _write(self.stdout, names, report)
            self.stderr.write(as_text(report))
            return
        try:
            with out.open("w", encoding="utf-8", newline="") as file:
                _write(file, names, report)
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror}.") from error
        self.stdout.write(as_text(report))


def _level(rows: list[Row], options: dict[str, Any]) -> Level:
    """Numbers are placed by their value, so that the scale has its order; words as they come."""
    texts = {text for row in rows for text in (row.label, row.truth) if text}
    is_ordered = options["categories"] or all(map(is_number, texts))
    return "ordinal" if is_ordered else "nominal"


def _write(file: TextIO | OutputWrapper, names: tuple[str, ...], report: dict[str, Any]) -> None:
    has_truth = bool(report["scores"])
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, *_FIELDS, *(["truth"] if has_truth else [])])
    for row in report["rows"]:
        item = row["item"] if isinstance(row["item"], list) else [row["item"]]
        cells = [row["votes"], row["majority"], int(row["tied"]), row["dawid_skene"]]
        known = [row["truth"]] if has_truth else []
        writer.writerow([*item, *cells, f"{row['probability']:.6f}", *known])
