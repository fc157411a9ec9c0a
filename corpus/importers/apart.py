"""What an import's process of its own does: unpacks, reads, and hands rows over in groups."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from corpus.importers.archive import BadArchive, unpack
from corpus.importers.files import Meter
from corpus.importers.formats import format_named
from corpus.importers.rows import Location, MachineRow, PassageBatch, Row, RunFileRow

# What rows are made of.
KINDS: Final[tuple[type, ...]] = (
    *get_args(Row),
    *get_args(RunFileRow),
    Location,
    MachineRow,
    range,
)
# What a group is full at, each row of a batch of passages counted.
_ROWS: Final = 2000
# Bytes of the files that were read, of how many, and rows.
Group: TypeAlias = tuple[int, int, list[Any]]


def unpack_here(_: bytes, *, archive: str, target: str, most_bytes: int) -> dict[str, str]:
    """`unpack`: the path to read, or the fault."""
    try:
        return {"path": str(unpack(Path(archive), Path(target), most_bytes=most_bytes))}
    except BadArchive as fault:
        return {"fault": str(fault)}


def read_here(
    _: bytes,
    *,
    format: str,
    path: str,
    qrels: str,
    limit: int,
    names: Mapping[str, str],
    asked: Mapping[str, str],
) -> Iterator[Group]:
    """What the format's reader yields, grouped; `limit` and `names` are those of a Meter."""
    meter, gold = Meter(limit, names), Path(qrels) if qrels else None
    rows = format_named(format).read(Path(path), qrels=gold, meter=meter, **asked)
    for group in _grouped(rows):
        yield meter.done, meter.total, group


def _grouped(rows: Iterable[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row) if isinstance(row, PassageBatch) else 1
        if size >= _ROWS:
            yield group
            group, size = [], 0
    yield group
