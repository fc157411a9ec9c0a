"""What lies in a folder, what domain each file speaks of, and how far they have been read."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpus.importers.rows import Location, Problem

# Beyond this a folder is not a collection but a mistake (or an attack).
MAX_ENTRIES = 20_000
DEPTH = 4
# "biology.json", "biology.jsonl.gz", and the shards of a hub folder: all of domain "biology".
DATA = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:(?:jsonl|json)(?:\.gz)?|parquet)$", re.IGNORECASE)
_QRELS = re.compile(r"\.(?:txt|tsv|qrels|trec)$", re.IGNORECASE)
KINDS_OF_FILE = ".json, .jsonl (either with .gz) or .parquet"
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_ENDING = re.compile(r"\.[A-Za-z0-9_-]{1,12}$")

# Says of what licence a folder's layers are (licences.py); never taken for data.
LICENCES = "licences.jsonl"

# When a compressed file unpacks to far more than data ever does, it is a bomb: text that people
# arrive with grows three to ten times; what is all alike, a hundred times.
MAX_TIMES = 200
ALWAYS_FINE = 64 * 1024 * 1024
TOO_MUCH = (
    "The compressed files hold more than may be loaded at once (ASSAY_IMPORT_LIMIT); "
    "load them in parts."
)
TOO_DENSE = "This unpacks to far more than its size; unpack it yourself and check what it holds."


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


class Meter:
    """How far reading has come, in bytes of the files as they lie on disk.

    `limit` bounds what compressed files may unpack to, all of them together; 0 is no bound.
    `names` says under which of our names a field of records is read that the files call otherwise.
    """

    def __init__(self, limit: int = 0, names: Mapping[str, str] | None = None) -> None:
        self.limit = limit
        self.names = dict(names or {})
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

    def fault(self, *, packed: int, unpacked: int) -> str:
        """Why it is too much that the present file gave so many bytes out of so few, or ""."""
        self._unpacked = unpacked
        if is_bomb(packed=packed, unpacked=unpacked):
            return TOO_DENSE
        return TOO_MUCH if 0 < self.limit < self._unpacked_before + unpacked else ""

    def aside(self) -> "Meter":
        """A meter for looking into a file before it is read: the same bound, no progress."""
        return Meter(self.limit, self.names)

    def end(self, file: DataFile) -> None:
        """The present file is over."""
        self._unpacked_before += self._unpacked
        self._unpacked = 0
        self._before += file.size
        self.done = self._before


def is_bomb(*, packed: int, unpacked: int) -> bool:
    """Whether so many bytes out of so few are more than any honest file gives."""
    return unpacked > max(ALWAYS_FINE, MAX_TIMES * packed)


def data_files(path: Path, *, inside: str = "") -> list[DataFile]:
    """The data files of a folder (or the file itself), by name; `inside` prefixes their names."""
    return _files(path, DATA, inside)


def qrels_files(path: Path) -> list[DataFile]:
    """The qrels files of a folder (or the file itself), by name; the domain is the stem."""
    return _files(path, _QRELS, f"{path.name}/" if path.is_dir() else "")


def _files(path: Path, suffix: re.Pattern[str], inside: str) -> list[DataFile]:
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    return [
        DataFile(each, inside + each.name, suffix.sub("", each.name))
        for each in found
        if each.is_file() and _is_data(each.name) and suffix.search(each.name)
    ]


def _is_data(name: str) -> bool:
    return name != LICENCES and not name.startswith(".")


def is_crowded(path: Path) -> bool:
    """Whether a folder holds more entries than anybody should have to wait for."""
    return any(seen > MAX_ENTRIES for seen, _ in enumerate(_entries(path, DEPTH), start=1))


def files_under(path: Path, *, deep: bool = True) -> list[Path]:
    """The files of a folder in the order of their paths (or the file itself); none hidden."""
    if path.is_file():
        return [path]
    found = (Path(each.path) for each in _entries(path, DEPTH if deep else 1) if each.is_file())
    kept = (each for each in found if each.suffix.lower() not in {".md", ".zip"})
    return sorted(each for each in kept if _is_data(each.name))


def folders_in(path: Path) -> list[Path]:
    """The folders directly inside a folder, by name."""
    return sorted(Path(each.path) for each in _entries(path, 1) if each.is_dir())


def _entries(path: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    """Everything not hidden to this depth; links to folders are not followed."""
    if not path.is_dir():
        return
    with os.scandir(path) as found:
        for each in found:
            if each.name.startswith("."):
                continue
            yield each
            if depth > 1 and each.is_dir(follow_symlinks=False):
                yield from _entries(Path(each.path), depth - 1)


def name_of(path: Path) -> str:
    """What a path is called, even where it is given as `.` or `..`."""
    return path.name if path.name not in {"", ".."} else path.resolve().name


def stem_of(path: Path) -> str:
    """A file's name without `.gz`, the ending before it, and the number of a shard."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return _SHARD.sub("", _ENDING.sub("", name)) or name


def as_file(path: Path, root: Path, domain: str) -> DataFile:
    """The file under the name that people find it by, seen from the root."""
    name = path.relative_to(root).as_posix() if path != root else path.name
    return DataFile(path, name, domain)


def missing(path: Path, requested: str) -> Problem:
    """What to say where a path holds nothing to read."""
    message = "There is no such file or folder."
    if path.exists():
        message = f"Nothing to load here: {requested} is needed."
    return Problem(Location(name_of(path)), message)
