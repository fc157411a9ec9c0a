"""Agreement of a file of ratings: every coefficient with its interval."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError

from annotate.agreement.report import FEW, against_dict, against_text, as_dict, as_text
from annotate.management.rating_files import add_arguments, layout_of, ratings_of, rows_of
from kit.numbers import number
from kit.stats.intervals import Method, Options
from kit.stats.ratings import LEVELS


class Command(BaseCommand):
    help = (
        "Measure agreement in a file of labels (CSV or TSV with the columns item, rater, label, or"
        " what --format says): percent agreement, Cohen's, Fleiss', Conger's and Krippendorff's"
        " coefficients with confidence intervals."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="an empty label is a missing rating")
        parser.add_argument(
            "--level", required=True, choices=LEVELS, help="level of measurement of the labels"
        )
        parser.add_argument(
            "--against",
            metavar="FILE",
            type=Path,
            nargs="+",
            help="compare the file with each of these; each file is one rater",
        )
        add_arguments(parser)
        parser.add_argument("--votes", type=_whole, help="Fleiss: items with this many labels")
        parser.add_argument("--confidence", type=_share, default=0.95, help="default: 0.95")
        parser.add_argument(
            "--width", type=_share, help="also say how many items make an interval this narrow"
        )
        parser.add_argument("--method", choices=get_args(Method), default="jackknife")
        parser.add_argument("--resamples", type=_whole, default=2000, help="for the bootstraps")
        parser.add_argument("--seed", type=int, default=0, help="for the bootstraps")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        layout, others = layout_of(options), options["against"]
        if others and layout.form == "wide":
            raise CommandError("--against takes files of one rater each; a wide table has several.")
        if layout.form == "qrels" and not others:
            raise CommandError("A qrels file is one rater. Name the others with --against.")
        if others and options["votes"]:
            raise CommandError("--votes is of Fleiss' kappa; --against compares two files.")
        files = [path, *(others or ())]
        if len({each.resolve() for each in files}) < len(files):
            raise CommandError("--against names a file twice.")
        rows = [
            row
            for each in files
            for row in rows_of(each, layout, rater=str(each) if others else "")
        ]
        found = ratings_of(rows, options["level"], options, path)
        how = Options(
            options["confidence"], options["method"], options["resamples"], options["seed"]
        )
        level, width = options["level"], options["width"]
        if others:
            report = against_dict(found, level, width=width, options=how)
        else:
            report = as_dict(found, level, votes=options["votes"], width=width, options=how)
        if options["json"]:
            result = {"file": str(path), **report}
            self.stdout.write(json.dumps(result, ensure_ascii=False, allow_nan=False))
            return
        self.stdout.write(against_text(report) if others else as_text(report))
        if report["few_items"]:
            self.stdout.write(self.style.WARNING(FEW))


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ArgumentTypeError("give a number between 0 and 1")
    return value


def _whole(text: str) -> int:
    found = number(text)
    if found is None or not 1 < found <= 1_000_000:
        raise ArgumentTypeError("give a whole number from 2 to 1,000,000")
    return found
