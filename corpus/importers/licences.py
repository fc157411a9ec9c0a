"""What a folder of any format says of the licences of its layers: `licences.jsonl` beside its data.

A row is `layer`, `licence` (its name), and optionally `domain` (every domain of the folder where it
is left out), `url`, `attribution` and `text` (the whole licence).
"""

from collections.abc import Iterator
from pathlib import Path

from corpus.importers.fields import DOMAIN_LIMIT, URL_LIMIT, Record
from corpus.importers.files import LICENCES, DataFile, Meter
from corpus.importers.records import each_record
from corpus.importers.rows import LAYERS, LicenceRow, Row

NAME_LIMIT = 120
FIELDS = ("url", "attribution", "text")


def licence_files(path: Path) -> list[DataFile]:
    """The folder's file of licences, if it has one."""
    file = path / LICENCES
    return [DataFile(file, LICENCES, "")] if path.is_dir() and file.is_file() else []


def read_licences(files: list[DataFile], meter: Meter) -> Iterator[Row]:
    """The rows of these files."""
    yield from each_record(files, meter, _licence)


def _licence(_domain: str, record: Record) -> Iterator[Row]:
    layer = record.text("layer")
    if layer and layer not in LAYERS:
        record.wrong("layer", f"One of {', '.join(LAYERS)} is needed here, not {layer[:40]!r}.")
    name = record.text("licence", limit=NAME_LIMIT)
    if record.given("licence") and not name.strip():
        record.wrong("licence", "The name of the licence is needed here.")
    yield LicenceRow(
        domain=record.maybe_text("domain", limit=DOMAIN_LIMIT) or "",
        layer=layer,
        name=name,
        location=record.location.at("licence"),
        url=record.maybe_text("url", limit=URL_LIMIT),
        attribution=record.maybe_text("attribution"),
        text=record.maybe_text("text"),
    )
