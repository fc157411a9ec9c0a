"""A backup of the installation, taken while people work."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kit.backup.services import back_up
from kit.errors import Refused


class Command(BaseCommand):
    help = (
        "Write every row and the files that rows point to into one new file, for `restore`, as of "
        "one moment; nobody waits for it. Keep the file as you keep the server: it holds sessions, "
        "hashes of passwords and the secret key of the data folder."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            back_up(path, say=self.stdout.write)
        except (Refused, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{path} ({path.stat().st_size / 1e6:,.1f} MB)")
