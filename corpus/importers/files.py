"""Which files a path holds, what domain each speaks of, and how far they have been read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# "biology.json", "biology.jsonl.gz", and the shards of a hub folder: all of domain "biology".
_DATA = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:(?:jsonl|json)(?:\.gz)?|parquet)$", re.IGNORECASE)
_QRELS = re.compile(r"\.(?:txt|tsv|qrels|trec)$", re.IGNORECASE)
KINDS_OF_FILE = ".json, .jsonl (either with .gz) or .parquet"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read: where it lies, what it is called in messages, and its domain."""

    path: Path
    name: str
    domain: str

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for a file that vanished."""
        return self.path.stat().st_size if self.path.is_file() else 0


def data_files(path: Path, *, inside: str = "") -> list[DataFile]:
    """The data files of a folder (or the file itself), by name; `inside` prefixes their names."""
    return _files(path, _DATA, inside)


def qrels_files(path: Path) -> list[DataFile]:
    """The qrels files of a folder (or the file itself), by name; the domain is the stem."""
    return _files(path, _QRELS, f"{path.name}/" if path.is_dir() else "")


def _files(path: Path, suffix: re.Pattern[str], inside: str) -> list[DataFile]:
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    return [
        DataFile(each, inside + each.name, suffix.sub("", each.name))
        for each in found
        if each.is_file() and not each.name.startswith(".") and suffix.search(each.name)
    ]


class Meter:
    """How far reading has come, in bytes of the files as they lie on disk.

    `limit` bounds what compressed files may unpack to, all of them together; 0 is no bound.
    """

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.total = 0
        self.done = 0
        self._before = 0
        self._unpacked = self._unpacked_before = 0

    def expect(self, files: Iterable[DataFile]) -> None:
        """Add these files to what will be read."""
        self.total += sum(each.size for each in files)

    def at(self, position: int) -> None:
        """The present file has been read up to here."""
        self.done = self._before + position

    def unpacks(self, count: int) -> bool:
        """Note that the present file gave so many bytes; False once that is too much."""
        self._unpacked = count
        return not self.limit or self._unpacked_before + count <= self.limit

    def aside(self) -> "Meter":
        """A meter for looking into a file before it is read: the same bound, no progress."""
        return Meter(self.limit)

    def end(self, file: DataFile) -> None:
        """The present file is over."""
        self._unpacked_before += self._unpacked
        self._unpacked = 0
        self._before += file.size
        self.done = self._before
