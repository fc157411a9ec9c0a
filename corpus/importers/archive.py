"""Unpacking a zip of data files: nothing outside its target, nothing beyond a size."""

import re
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from corpus.importers.archive_end import directory_size
from corpus.importers.growth import TOO_DENSE, is_bomb

# Folders that formats know by name: they are never dropped from the paths of an archive.
FOLDERS = {
    "examples",
    "aspects",
    "documents",
    "long_documents",
    "pages",
    "pairs",
    "queries",
    "qrels",
    "topics",
}
MOST_FILES = 1000
# What the list of that many entries may take; it is read as a whole before the first entry.
MOST_DIRECTORY = 4 * 1024 * 1024
DEPTH = 4
_NAME = re.compile(r"[\w][\w.+-]{0,119}")
_ARCHIVES = {".zip", ".tar", ".tgz", ".7z", ".rar", ".bz2", ".xz", ".zst"}
_BLOCK = 1 << 20


class BadArchive(Exception):
    """The archive cannot be taken; the message says why."""


def unpack(archive: Path, target: Path, *, most_bytes: int) -> Path:
    """Unpack into the existing folder `target`; return the path to read (a sole file, or a folder).

    The folder bears the name of the one that all entries are in, else that of the archive, as some
    formats name their domain by it. Paths are made anew from safe names, so no entry can reach
    out. Raises BadArchive for anything unusual, and once `most_bytes` have been written.
    """
    if directory_size(archive) > MOST_DIRECTORY:
        raise BadArchive(f"The zip file holds more than {MOST_FILES:,} files.")
    try:
        with zipfile.ZipFile(archive) as opened:
            root = _unpack_all(opened, target, most_bytes, packed=archive.stat().st_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadArchive("This is not a readable zip file without a password.") from error
    except (OSError, ValueError, OverflowError) as error:
        raise BadArchive("This zip file cannot be read.") from error
    return root


def _unpack_all(opened: zipfile.ZipFile, target: Path, most_bytes: int, *, packed: int) -> Path:
    entries = [each for each in opened.infolist() if _counts(each)]
    if not entries:
        raise BadArchive("The zip file is empty.")
    if len(entries) > MOST_FILES:
        raise BadArchive(f"The zip file holds more than {MOST_FILES:,} files.")
    names = [_checked(each) for each in entries]
    shared = _shared(names)
    root = target if len(names) == 1 else target / _folder_name(opened, names, shared)
    root.mkdir(exist_ok=True)
    written = 0
    for entry, parts in zip(entries, names, strict=True):
        place = _place(root, parts[-1:] if len(names) == 1 else parts[shared:], entry)
        with opened.open(entry) as source, place.open("xb") as sink:
            written = _copy(source, sink, written, most=most_bytes, packed=packed)
    return root / names[0][-1] if len(names) == 1 else root


def _parts(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    return tuple(each for each in parts if each not in {"/", ".", ".."} and ":" not in each)


def _counts(entry: zipfile.ZipInfo) -> bool:
    """Whether it is a data file, not a folder or an operating system's litter."""
    parts = _parts(entry)
    litter = "__MACOSX" in parts or (bool(parts) and parts[-1].startswith("."))
    return bool(parts) and not entry.is_dir() and not litter


def _checked(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    """The entry's folders in plain characters, and its name, which must be plain already."""
    *folders, name = _parts(entry)
    mode = entry.external_attr >> 16
    is_special = stat.S_IFMT(mode) not in {0, stat.S_IFREG}
    if is_special or not _NAME.fullmatch(name):
        raise BadArchive(f"The zip file holds an entry that is not taken: {entry.filename[:80]!r}.")
    if PurePosixPath(name).suffix.lower() in _ARCHIVES:
        raise BadArchive(f"The zip file holds another archive, {name!r}; unpack that one first.")
    return (*(_plain(each) for each in folders), name)


def _plain(folder: str) -> str:
    return re.sub(r"[^\w.+-]", "_", folder)[:120].lstrip(".") or "_"


def _shared(names: Sequence[tuple[str, ...]]) -> int:
    """How many folders all entries are in, up to the first that formats know."""
    count = 0
    for level in zip(*(each[:-1] for each in names), strict=False):
        if len(set(level)) > 1 or level[0] in FOLDERS:
            break
        count += 1
    return count


def _folder_name(opened: zipfile.ZipFile, names: Sequence[tuple[str, ...]], shared: int) -> str:
    return names[0][shared - 1] if shared else _plain(Path(opened.filename or "").stem)


def _place(root: Path, parts: tuple[str, ...], entry: zipfile.ZipInfo) -> Path:
    if len(parts) > DEPTH:
        raise BadArchive(f"The zip file holds folders too deep: {entry.filename[:80]!r}.")
    place = root.joinpath(*parts)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadArchive(f"{parts[-1]!r} clashes with a file in the zip file.") from error
    if place.exists():
        raise BadArchive(f"The zip file holds {parts[-1]!r} twice.")
    return place


def _copy(source: IO[bytes], sink: IO[bytes], written: int, *, most: int, packed: int) -> int:
    """Bytes written so far; the sizes that the archive states are not believed."""
    while block := source.read(_BLOCK):
        written += len(block)
        if written > most:
            raise BadArchive("The zip file is too large when unpacked.")
        if is_bomb(packed=packed, unpacked=written):
            raise BadArchive(TOO_DENSE)
        sink.write(block)
    return written
