"""Agreement of a file of ratings: every coefficient with its interval."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError

from annotate.agreement.report import FEW, as_dict, as_text
from kit.stats.agreement import Options
from kit.stats.intervals import Method
from kit.stats.ratings import LEVELS
from kit.stats.reading import ReadError, decoded, read_ratings


class Command(BaseCommand):
    help = (
        "Measure agreement in a CSV file with the columns item, rater, label: percent agreement,"
        " Cohen's, Fleiss' and Krippendorff's coefficients with confidence intervals."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="CSV; an empty label is a missing rating")
        parser.add_argument(
            "--level", required=True, choices=LEVELS, help="level of measurement of the labels"
        )
        parser.add_argument(
            "--categories",
            metavar="A,B,C",
            help="the whole scale in its order; by default the labels that occur,"
            " numbers at their value",
        )
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
        categories = options["categories"].split(",") if options["categories"] else None
        try:
            with path.open("rb") as file:
                found = read_ratings(decoded(file), options["level"], categories=categories)
        except ReadError as error:
            line = f":{error.line}" if error.line else ""
            field = f" {error.field}" if error.field else ""
            raise CommandError(f"{path}{line}{field}: {error.message}") from error
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}.") from error
        how = Options(
            options["confidence"], options["method"], options["resamples"], options["seed"]
        )
        report = as_dict(
            found, options["level"], votes=options["votes"], width=options["width"], options=how
        )
        if options["json"]:
            result = {"file": str(path), **report}
            self.stdout.write(json.dumps(result, ensure_ascii=False, allow_nan=False))
            return
        self.stdout.write(as_text(report))
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
    if not text.isascii() or not text.isdigit() or not 1 < int(text) <= 1_000_000:
        raise ArgumentTypeError("give a whole number from 2 to 1,000,000")
    return int(text)
