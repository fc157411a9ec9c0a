"""An installation made of a backup."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kit.backup.archive import Reader
from kit.backup.services import restore
from kit.errors import Refused
from kit.management.commands.serve import alone


class Command(BaseCommand):
    help = (
        "Make an empty installation what it was when the backup was taken, whatever its database; "
        "a backup of an earlier version is brought to this one."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--check", action="store_true", help="only read the file through: nothing is changed"
        )
        parser.add_argument(
            "--keep-version",
            action="store_true",
            help="leave the tables as the version that wrote the backup had them, to go back to it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            if options["check"]:
                self._describe(Reader(path).manifest)
                return
            with alone(settings.ASSAY_DATA / "serve.lock", f"restoring {path}"):
                restore(path, keep_version=options["keep_version"], say=self.stdout.write)
        except (Refused, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored from {path}.")

    def _describe(self, manifest: dict[str, Any]) -> None:
        rows = sum(table["rows"] for table in manifest["tables"])
        self.stdout.write(
            f"Whole: {rows:,} rows of {len(manifest['tables'])} tables, written by Assay "
            f"{manifest['version']} on {manifest['database']} at {manifest['made_at']}."
        )
