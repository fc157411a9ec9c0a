"""What management commands of every room share."""

import csv
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kit.errors import Refused
from kit.lists.report_tables import ReportTable, csv_header, csv_rows


class VerbCommand(BaseCommand):
    """Base of commands that call verbs: a refusal is said in its words, with exit code 1."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """What Django calls, from the terminal and from `call_command`."""
        try:
            return super().execute(*args, **options)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal

    def print_tables(self, sheets: Iterable[ReportTable]) -> None:
        """As CSV, each below a line with its title."""
        writer = csv.writer(self.stdout, lineterminator="\n")
        for sheet in sheets:
            self.stdout.write(f"# {sheet.title}")
            writer.writerow(csv_header(sheet))
            writer.writerows(csv_rows(sheet))
