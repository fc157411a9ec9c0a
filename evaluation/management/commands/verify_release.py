"""`manage.py verify_release DIR`: derive every label of a release again, without a database."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluation.verification.folder import verify

_MAX_SHOWN = 100


class Command(BaseCommand):
    help = (
        "Check a release's folder against itself: checksums, every label from stored answers and "
        "votes, qrels and gold from the labels. Names each row that differs."
    )
    # It reads files alone.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = verify(options["folder"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(f"This folder cannot be read as a release: {error}") from None
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report), ensure_ascii=False))
        else:
            self.stdout.write(
                f"{report.files} files, {report.labels:,} labels; {report.derived:,} derived "
                f"again, {report.unverified:,} by rules that need more than a release keeps."
            )
            if report.votes:
                self.stdout.write(f"The chain of votes ends in {report.votes}.")
            for each in report.differences[:_MAX_SHOWN]:
                self.stdout.write(str(each))
        if report.differences:
            count = len(report.differences)
            more = f" (the first {_MAX_SHOWN} above)" if count > _MAX_SHOWN else ""
            raise CommandError(f"{count:,} rows differ{more}.")
        if not options["json"]:
            self.stdout.write("Nothing differs.")
