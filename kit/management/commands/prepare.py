"""Everything that has to be there before Assay starts, made where it is missing."""

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from kit.backup.services import back_up
from kit.database.space import copy_database, rebuild_once

# Folders of packages that no page here links: to compress them takes half of the time.
_NOT_SERVED = ["redoc", "rest_framework"]


class Command(BaseCommand):
    help = (
        "Make or upgrade the database and collect the static files; what is up to date is left "
        "alone, so this takes a moment at every start but the first."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="load the demo into a new database")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._migrate()
            rebuild_once()
            _collect_static_files()
            if options["demo"]:
                call_command("load_demo", full=True, stdout=self.stdout)
        except OSError as error:
            place = error.filename or settings.ASSAY_DATA
            raise CommandError(f"{place} cannot be written: {error.strerror}.") from error
        except DatabaseError as error:
            raise CommandError(
                f"The database ({settings.DATABASE_URL.rpartition('@')[2]}) does not work: "
                f"{str(error).strip()}"
            ) from error

    def _migrate(self) -> None:
        executor = MigrationExecutor(connection)
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return
        if executor.loader.applied_migrations and settings.ASSAY_BACKUPS > 0:
            self.stdout.write(f"Before the upgrade the database was copied to {_back_up()}.")
        call_command("migrate", verbosity=0, interactive=False)


def _back_up() -> Path:
    """What the database holds before it is changed; of earlier ones the last few stay."""
    folder = settings.ASSAY_DATA / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"before-upgrade-{timezone.now():%Y%m%d-%H%M%S}"
    if connection.vendor == "sqlite":
        # The file itself, which the version before can go on with at once.
        path = folder / f"{name}.sqlite3"
        copy_database(path)
    else:
        path = folder / f"{name}.zip"
        back_up(path, with_files=False)
    older = sorted(folder.glob("before-upgrade-*"))
    for each in older[: -settings.ASSAY_BACKUPS]:
        each.unlink()
    return path


def _collect_static_files() -> None:
    """Collect anew unless every file is as it was when they were last collected, all of them."""
    digest = hashlib.sha256(repr(settings.STATIC_BUNDLES).encode())
    for finder in get_finders():
        for path, storage in finder.list(_NOT_SERVED):
            file = Path(storage.path(path)).stat()
            digest.update(f"{path} {file.st_size} {file.st_mtime_ns}\n".encode())
    stamp = settings.ASSAY_DATA / "static.stamp"
    if not stamp.exists() or stamp.read_text() != digest.hexdigest():
        stamp.unlink(missing_ok=True)
        # A file that was half written when a start was stopped would pass for a new one.
        left_out = {"ignore_patterns": [*_NOT_SERVED]}
        call_command("collectstatic", verbosity=0, interactive=False, clear=True, **left_out)
        stamp.write_text(digest.hexdigest())
