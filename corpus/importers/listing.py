"""What lies in a folder: bounded, in order, and what each file and folder speaks of."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from corpus.importers.files import DataFile
from corpus.importers.rows import Place, Problem

# Beyond this a folder is not a collection but a mistake (or an attack).
MOST_ENTRIES = 20_000
DEPTH = 4
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_ENDING = re.compile(r"\.[A-Za-z0-9_-]{1,12}$")


def is_crowded(path: Path) -> bool:
    """Whether a folder holds more entries than anybody should have to wait for."""
    return any(seen > MOST_ENTRIES for seen, _ in enumerate(_entries(path, DEPTH), start=1))


def files_under(path: Path, *, deep: bool = True) -> list[Path]:
    """The files of a folder in the order of their paths (or the file itself); none hidden."""
    if path.is_file():
        return [path]
    found = (Path(each.path) for each in _entries(path, DEPTH if deep else 1) if each.is_file())
    return sorted(each for each in found if each.suffix.lower() not in {".md", ".zip"})


def folders_in(path: Path) -> list[Path]:
    """The folders directly inside a folder, by name."""
    if not path.is_dir():
        return []
    return sorted(Path(each.path) for each in _entries(path, 1) if each.is_dir())


def name_of(path: Path) -> str:
    """What a path is called, even where it is given as `.` or `..`."""
    return path.name if path.name not in {"", ".."} else path.resolve().name


def stem_of(path: Path) -> str:
    """A file's name without `.gz`, the ending before it, and the number of a shard."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return _SHARD.sub("", _ENDING.sub("", name)) or name


def missing(path: Path, wanted: str) -> Problem:
    """What to say where a path holds nothing to read."""
    message = "There is no such file or folder."
    if path.exists():
        message = f"Nothing to load here: {wanted} is needed."
    return Problem(Place(name_of(path)), message)


def as_file(path: Path, root: Path, domain: str) -> DataFile:
    """The file under the name that people find it by, seen from the root."""
    name = path.relative_to(root).as_posix() if path != root else path.name
    return DataFile(path, name, domain)


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
