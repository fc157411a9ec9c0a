"""Taking a backup while people work, and making an installation of one."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from django.utils.crypto import salted_hmac

from kit import storage
from kit.backup import archive, loaded, restored, tables
from kit.backup.tables import FORMER, Digest, Table
from kit.database.bulk import bulk_loading
from kit.errors import Refused

# What making the tables fills by itself.
_OF_DJANGO: Final = {"auth_permission", "django_content_type", "django_migrations"}
_KEY: Final = "secret.key"
_SEED: Final = "seed.key"
Say = Callable[[str], object]


def back_up(path: Path, *, with_files: bool = True, say: Say = lambda _: None) -> None:
    """Write a new file with every row as of one moment, and the files that rows point to.

    Nobody who reads or writes waits for it. Raises Refused where something stands there already.
    """
    if path.exists():
        raise Refused(f"{path} is there already. Name a new file.")
    writer = archive.Writer(path)
    try:
        with snapshot() as there:
            loader = MigrationLoader(there)
            listed = [_add(writer, there, table, say) for table in tables.tables_of(there, loader)]
        # After the rows' moment: what they point to was there, and may be gone by now.
        files = _files() if with_files else ()
        gone = [name for name, file in files if not writer.add_file(name, file)]
        if gone:
            say(f"{len(gone):,} files were deleted meanwhile and are not in it.")
        writer.close(
            {
                "format": archive.FORMAT,
                "version": settings.SPECTACULAR_SETTINGS["VERSION"],
                "made_at": timezone.now(),
                "database": connection.vendor,
                "data_folder": str(settings.ASSAY_DATA),
                "key": _fingerprint(settings.SEED_KEY),
                "migrations": sorted(loader.applied_migrations),
                "tables": listed,
                "gone_meanwhile": gone,
            }
        )
    except BaseException:
        writer.give_up()
        raise


def restore(path: Path, *, keep_version: bool = False, say: Say = lambda _: None) -> None:
    """Make an empty installation what it was when the file was written.

    The file is read through before anything is changed, and the rows are written in one
    transaction, which ends only when the database gives each table back as it was. Then they are
    brought to this version, unless `keep_version`. Raises Refused, and the database stays empty.
    """
    reader = archive.Reader(path)
    say("The file is whole.")
    manifest = reader.manifest
    targets = _targets(manifest, MigrationLoader(connection))
    _clear()
    MigrationExecutor(connection).migrate(targets)
    _put_files(reader)
    with connection.constraint_checks_disabled(), bulk_loading(), transaction.atomic():
        _load(reader, say)
        try:
            connection.check_constraints()
        except IntegrityError as error:
            raise Refused(f"The rows of {path} do not fit together: {error}") from error
        there = {each["name"]: set(each["columns"]) for each in manifest["tables"]}
        answers = loaded.send(sender=None, columns_of=lambda table: there.get(table, set()))
        if count := sum(int(paused or 0) for _, paused in answers):
            say(f"{count:,} runs that ask models are paused: resume each that is to go on here.")
    if keep_version:
        return
    if MigrationExecutor(connection).migration_plan(MigrationLoader(connection).graph.leaf_nodes()):
        say("Bringing the rows to this version.")
        call_command("migrate", verbosity=0, interactive=False)
    say("The rows are in. What the file leaves out is made anew, for minutes where there is much.")
    restored.send(sender=None, before=Path(manifest["data_folder"]))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    if manifest["key"] != _fingerprint(settings.SEED_KEY) and not _takes_key(reader):
        say(
            "The key of the backup is another one: set SEED_KEY to that one, or votes cast before "
            "count as altered, and orders, pseudonyms and fences are others."
        )


@contextmanager
def snapshot() -> Iterator[BaseDatabaseWrapper]:
    """A connection of its own that sees one moment and keeps nobody from writing."""
    there = connection.copy()
    if there.vendor == "sqlite":
        there.settings_dict["OPTIONS"] |= {"transaction_mode": "DEFERRED"}
    try:
        there.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        if there.vendor == "postgresql":
            with there.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield there
        there.rollback()
    finally:
        there.close()


def _add(
    writer: archive.Writer, there: BaseDatabaseWrapper, table: Table, say: Say
) -> dict[str, Any]:
    digest, rows = Digest(table), 0
    for lines in tables.pieces_of(there, table, digest):
        writer.add_rows(table.name, rows + 1, lines)
        rows += len(lines)
    if rows:
        say(f"{table.name}: {rows:,} rows")
    last = tables.last_key(there, table)
    return asdict(table) | {"rows": rows, "sha256": digest.hexdigest(), "last_key": last}


def _files() -> Iterator[tuple[str, Path]]:
    """Files that rows point to, and the key that rows are signed with where it is kept here."""
    folders = {"pages": settings.PAGES, "releases": settings.RELEASES, "uploads": settings.UPLOADS}
    for kind, folder in folders.items():
        for place, inner, names in os.walk(folder):
            # What is still being written has no row yet.
            inner[:] = sorted(name for name in inner if ".building-" not in name)
            for path in (Path(place, name) for name in sorted(names)):
                if path.suffix != ".part" and path.is_file() and not path.is_symlink():
                    yield f"{kind}/{path.relative_to(folder)}", path
        stored = storage.listed(Path(folder))
        yield from ((f"{kind}/{path.relative_to(folder)}", path) for path, _, _ in stored)
    kept = settings.ASSAY_DATA / _KEY
    if _holds_our_key(kept):  # a seed beside a key of the environment stays apart, as that does
        yield from ((each.name, each) for each in (kept, kept.with_name(_SEED)) if each.is_file())


def _holds_our_key(kept: Path) -> bool:
    return kept.is_file() and _first_line(kept.read_text("ascii")) == settings.SECRET_KEY


def _first_line(text: str) -> str:
    return text.split("\n")[0].strip()


def _fingerprint(key: str) -> str:
    return salted_hmac("kit.backup", "key", secret=key).hexdigest()


def _targets(manifest: dict[str, Any], loader: MigrationLoader) -> list[tuple[str, str]]:
    """The last migration of each app that the backup's database had."""
    had = {(app, name) for app, name in manifest["migrations"]}
    for key, migration in loader.replacements.items():  # what one of today stands for
        if had.issuperset(migration.replaces):
            had = had - set(migration.replaces) | {key}
    # Apps that are gone are none of ours (`authtoken`).
    unknown = sorted(had - set(loader.graph.nodes))
    if newer := [f"{app}.{name}" for app, name in unknown if app in loader.migrated_apps]:
        raise Refused(
            f"The backup is of Assay {manifest['version']} or newer, which knows what this version "
            f"does not ({newer[0]}). Restore it with that one."
        )
    had -= set(unknown)
    nodes = loader.graph.node_map
    before = {(key, parent.key) for key in had for parent in nodes[key].parents}
    inner = {parent for key, parent in before if key[0] == parent[0]}
    return sorted(had - inner)


def _clear() -> None:
    """Take away the tables of an empty installation, which may be of another version.

    Raises Refused for one that holds anything.
    """
    loader = MigrationLoader(connection)
    found = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for table in tables.tables_of(connection, loader):
            if table.name in found and table.name not in _OF_DJANGO:
                name = connection.ops.quote_name(table.name)
                cursor.execute(f"SELECT 1 FROM {name} LIMIT 1")  # noqa: S608
                if cursor.fetchone():
                    raise Refused(
                        f"The database is not empty: {table.name} has rows. Restore into a new "
                        "one (another DATABASE_URL, or another data folder in ASSAY_DATA)."
                    )
        apps = {app for app, _ in loader.applied_migrations} | {"django"}
        ours = [name for name in sorted(found) if name.split("_")[0] in apps]
        cascade = " CASCADE" if connection.vendor == "postgresql" else ""
        with connection.constraint_checks_disabled():
            for name in ours:
                cursor.execute(f"DROP TABLE IF EXISTS {connection.ops.quote_name(name)}{cascade}")


def _load(reader: archive.Reader, say: Say) -> None:
    """Fill the tables, which hold what making them put there, and hold them against the backup."""
    listed = {each["name"]: each for each in reader.manifest["tables"]}
    if FORMER.name in listed:
        tables.create_former()
    there = tables.tables_of(connection, MigrationLoader(connection))
    for table in there:
        if table.name not in listed or listed[table.name]["columns"] != table.columns:
            raise Refused(f"The columns of {table.name} are not those of the backup.")
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table.name)}")  # noqa: S608
    for table in there:
        for place, lines in reader.pieces(table.name):
            tables.load_piece(table, place, lines)
        if last := listed[table.name]["last_key"]:
            tables.set_last_key(table, last)
        _compare(table, listed[table.name])
        if rows := listed[table.name]["rows"]:
            say(f"{table.name}: {rows:,} rows")


def _compare(table: Table, written: dict[str, Any]) -> None:
    digest, rows = Digest(table), 0
    for row, line in tables.rows_of(connection, table):
        digest.add(row, line)
        rows += 1
    if (rows, digest.hexdigest()) != (written["rows"], written["sha256"]):
        raise Refused(f"{table.name} came back otherwise than it was written; nothing was kept.")


def _put_files(reader: archive.Reader) -> None:
    for name, source in reader.files():
        kind, _, inner = name.partition("/")
        folder = {"pages": settings.PAGES, "releases": settings.RELEASES}.get(kind)
        folder = settings.UPLOADS if kind == "uploads" else folder
        if folder is not None:
            path = Path(folder, inner)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            storage.put(path, path)


def _takes_key(reader: archive.Reader) -> bool:
    """Put the backup's keys in place of those that `make setup` made, if they lie in files.

    A backup from before seeds were kept holds the secret key, which was the seed as well.
    """
    kept = settings.ASSAY_DATA / _KEY
    found = {name: source.read() for name, source in reader.files() if name in (_KEY, _SEED)}
    seed = found.get(_SEED) or found.get(_KEY)
    if not seed or not _holds_our_key(kept) or settings.SEED_KEY != settings.SECRET_KEY:
        return False
    if _fingerprint(_first_line(seed.decode("ascii"))) != reader.manifest["key"]:
        return False
    kept.with_name(_SEED).write_bytes(seed)
    kept.write_bytes(found[_KEY])
    return True
