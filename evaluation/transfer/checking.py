"""What a file of a benchmark may hold: its layout, and the values of its rows."""

import json
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import PurePosixPath
from typing import Any, Final
from uuid import UUID

import orjson
from django.db.backends.base.operations import BaseDatabaseOperations

from evaluation.transfer import writing
from evaluation.transfer.graph import Part, is_person
from kit.account.people import is_pseudonym
from kit.backup.archive import Reader
from kit.errors import Refused
from kit.runs.models import TrackedRun

_TEXT: Final = ("CharField", "TextField", "SlugField")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_SCOPE: Final = re.compile(r"(#[a-z]+)?")


def checked(part: Part, line: bytes, where: str, counts: dict[str, int]) -> list[Any]:
    """The values of a row, each of the kind of its column; raises Refused, naming the place."""
    try:
        values = orjson.loads(line)
    except ValueError as error:
        raise Refused(f"{where} cannot be read: {error}") from error
    if not isinstance(values, list) or len(values) != len(part.fields):
        raise Refused(f"{where} has not the {len(part.fields)} values of this table.")
    for at, (field, value) in enumerate(zip(part.fields, values, strict=True)):
        named = f"{where}, {field.name}"
        if at in part.targets:
            _check_led(part.targets[at], field, value, named, counts)
        elif at in part.blanks and part.label != "kit.Event":
            if value != part.blanks[at]:
                raise Refused(f"{named}: this never travels, and something stands here.")
        elif value is None:
            if not field.null:
                raise Refused(f"{named} is empty.")
        else:
            _check_value(field, part.table.columns[str(field.column)], value, named)
    _check_row(part, dict(zip((each.name for each in part.fields), values, strict=True)), where)
    return values


def _check_led(target: str, field: Any, value: Any, named: str, counts: dict[str, int]) -> None:
    if value is None and field.null:
        return
    if is_person(target):
        fits = isinstance(value, str) and is_pseudonym(value)
    else:
        fits = type(value) is int and 1 <= value <= counts.get(target, 0)
    if not fits:
        raise Refused(f"{named} leads to {str(value)[:40]!r}, which is not in the file.")


def _check_value(field: Any, kind: str, value: Any, named: str) -> None:
    if not _is_of_kind(kind, value):
        raise Refused(f"{named} holds {str(value)[:40]!r}, which is no {kind.partition('.')[0]}.")
    if kind == "int":
        low, high = BaseDatabaseOperations.integer_field_ranges[field.get_internal_type()]
        if not low <= value <= high:
            raise Refused(f"{named}: {value} is too large or too small a number.")
    if isinstance(value, str):
        if "\x00" in value or "\\u0000" in value:
            raise Refused(f"{named} holds a NUL, which PostgreSQL takes in no text.")
        if (
            field.get_internal_type() in _TEXT
            and field.max_length
            and len(value) > field.max_length
        ):
            raise Refused(f"{named} is {len(value):,} signs long, of {field.max_length:,} at most.")
    if field.choices and value != "" and value not in {key for key, _ in field.flatchoices}:
        raise Refused(f"{named}: {str(value)[:40]!r} is none of its values.")


def _is_of_kind(kind: str, value: Any) -> bool:
    if kind == "int":
        return type(value) is int
    if kind == "bool":
        return type(value) is bool
    if kind == "float":
        return type(value) in (float, int) or value in ("inf", "-inf", "nan")
    return isinstance(value, str) and _parses(kind, value)


def _parses(kind: str, value: str) -> bool:
    read: dict[str, Callable[[str], object]] = {
        "date": date.fromisoformat,
        "datetime": datetime.fromisoformat,
        "json": json.loads,
        "uuid": UUID,
    }
    try:
        if kind.startswith("decimal"):
            return Decimal(value).is_finite()
        if kind == "datetime" and not value.endswith("+00:00"):
            return False
        read.get(kind, str)(value)
    except (ValueError, InvalidOperation, RecursionError):
        return False
    return True


def _check_row(part: Part, row: dict[str, Any], where: str) -> None:
    """What would do something by itself, or lead to a file of this machine."""
    if issubclass(part.kind, TrackedRun) and row["status"] in writing.BUSY:
        raise Refused(f"{where} is a run that waits or runs, and none of those travels.")
    names: list[str] = []
    if part.label == "corpus.CollectedPage":
        names = [row["sha256"]]
    if part.label == "corpus.PageFetch":
        given = json.loads(row["given"]) if row["given"] else {}
        names = [given["sha256"]] if isinstance(given, dict) and given.get("sha256") else []
    if not all(isinstance(each, str) and _SHA256.fullmatch(each) for each in names):
        raise Refused(f"{where} names a page by what is no SHA-256.")
    if part.label == "kit.Event" and not _SCOPE.fullmatch(row["scope"]):
        raise Refused(f"{where} is in the record of something else.")
    if part.label == "evaluation.Release":
        files = json.loads(row["files"])
        paths = [row["version"], *files] if isinstance(files, dict) else [".."]
        if not all(_is_inside(each) for each in paths) or "/" in row["version"]:
            raise Refused(f"{where} names a file outside its folder.")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/") and "\\" not in path


def check_layout(reader: Reader, columns: dict[str, dict[str, str]]) -> None:
    """Raises Refused unless the file has the tables of this version, each row of them once.

    `columns` are those of this version, by model.
    """
    manifest = reader.manifest
    theirs = manifest.get("schema")
    if theirs != columns:
        raise Refused(
            f"The file was written by Assay {manifest.get('version')}, whose tables are others "
            "than here: bring both installations to one version, and export it again."
        )
    counts = {each["name"]: each["rows"] for each in manifest["tables"]}
    if counts.keys() != columns.keys() or any(type(each) is not int for each in counts.values()):
        raise Refused("The file does not list the tables of a benchmark.")
    if counts["corpus.Benchmark"] != 1:
        raise Refused(f"The file holds {counts['corpus.Benchmark']} benchmarks, not one.")
    found = dict.fromkeys(counts, 0)
    for name in reader.names:
        table, first, last = _piece(name)
        if not table:
            continue
        if table not in found:
            raise Refused(f"{name}: {table} is no table of a benchmark.")
        if first != found[table] + 1 or last < first:
            raise Refused(f"{name}: rows are missing, or stand there twice.")
        found[table] = last
    if wrong := [name for name in counts if counts[name] != found[name]]:
        raise Refused(
            f"{wrong[0]}: {counts[wrong[0]]:,} rows are listed, {found[wrong[0]]:,} there."
        )


def _piece(name: str) -> tuple[str, int, int]:
    """The table of a member with its rows; "" for what is none of a table."""
    parts = name.split("/")
    if name == "manifest.json" or parts[0] == "files":
        return "", 0, 0
    fits = re.fullmatch(r"tables/([\w.]+)/0*(\d+)-0*(\d+)\.jsonl", name)
    if fits is None:
        raise Refused(f"{name[:80]!r} has no place in a file of a benchmark.")
    return fits[1], int(fits[2]), int(fits[3])
