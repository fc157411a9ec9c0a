"""Unpacking a zip of data files: nothing outside its target, nothing beyond a size.

The size of the list of entries is read before the list itself, from the last record of the file
(APPNOTE.TXT of the format, sections 4.3.14 to 4.3.16).
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from corpus.importers.files import TOO_DENSE, is_bomb

_END = b"PK\x05\x06"
_LOCATOR = b"PK\x06\x07"
_END_64 = b"PK\x06\x06"
_END_SIZE, _LOCATOR_SIZE, _END_64_SIZE = 22, 20, 56
# The end record and the longest comment behind it.
_TAIL = _END_SIZE + 65535
_IN_END_64 = 0xFFFFFFFF


def directory_size(archive: Path) -> int:
    """Bytes of the list of entries as stated; 0 for a file that is no zip."""
    try:
        with archive.open("rb") as file:
            size = file.seek(0, 2)
            start = file.seek(max(0, size - _TAIL - _LOCATOR_SIZE))
            tail = file.read()
            found = tail.rfind(_END)
            if found < 0 or len(tail) < found + _END_SIZE:
                return 0
            stated = int(struct.unpack_from("<L", tail, found + 12)[0])
            locator = tail[max(0, found - _LOCATOR_SIZE) : found]
            if not locator.startswith(_LOCATOR) or len(locator) < _LOCATOR_SIZE:
                return stated
            # Readers believe the larger record where there is one, and look for it right before.
            places = struct.unpack_from("<Q", locator, 8)[0], start + found - 76
            return max(stated % _IN_END_64, *(_in_end_64(archive, each) for each in places))
    except OSError:
        return 0


def _in_end_64(archive: Path, offset: int) -> int:
    with archive.open("rb") as file:
        if not 0 <= offset <= archive.stat().st_size - _END_64_SIZE:
            return 0
        file.seek(offset)
        record = file.read(_END_64_SIZE)
    return int(struct.unpack_from("<Q", record, 40)[0]) if record.startswith(_END_64) else 0


# Folders that formats know by name: they are never dropped from the paths of an archive.
FOLDERS = {
    "examples",
    "aspects",
    "documents",
    "long_documents",
    "machine_gold",
    "pages",
    "pairs",
    "queries",
    "qrels",
    "topics",
}
MAX_FILES = 1000
# What the list of that many entries may take; it is read as a whole before the first entry.
MAX_DIRECTORY = 4 * 1024 * 1024
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
    if directory_size(archive) > MAX_DIRECTORY:
        raise BadArchive(f"The zip file holds more than {MAX_FILES:,} files.")
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
    if len(entries) > MAX_FILES:
        raise BadArchive(f"The zip file holds more than {MAX_FILES:,} files.")
    names = [_checked(each) for each in entries]
    # How many folders all entries are in, up to the first that formats know.
    shared = 0
    for level in zip(*(each[:-1] for each in names), strict=False):
        if len(set(level)) > 1 or level[0] in FOLDERS:
            break
        shared += 1
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
