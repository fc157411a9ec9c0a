"""The file of a backup: a zip of JSON lines and files, sealed with a checksum of the whole.

Members are `tables/TABLE/FIRST-LAST.jsonl` (rows FIRST to LAST of the table, an array each),
`files/PATH` and, last, `manifest.json`. The zip's comment is the SHA-256 of all bytes before it.
"""

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import orjson

from kit import storage
from kit.errors import Refused

FORMAT: Final = 1
# What such a file holds: an installation, or one benchmark of it (evaluation/transfer).
INSTALLATION, BENCHMARK = "installation", "benchmark"
_WORDS: Final = {INSTALLATION: "backup", BENCHMARK: "file of a benchmark"}
# Pieces are of a few megabytes, or of one row; rows shrink to a tenth, or a fiftieth of them.
_MOST_BYTES: Final = 512 << 20
_MOST_RATIO: Final = 200
_MANIFEST: Final = "manifest.json"
_BLANK: Final = b"0" * 64
_BLOCK: Final = 1 << 20
_PIECE = re.compile(r"tables/([\w.]+)/0*(\d+)-0*(\d+)\.jsonl")
_BROKEN = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError)


class _Sealed:
    """A file that is only written to; the blank comment at its end becomes the seal."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        if data == _BLANK:
            return self._file.write(self._digest.hexdigest().encode())
        self._digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


class Writer:
    """Writes a backup from its beginning to its end; the file is there once `close` is done."""

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        # The quickest level: a third larger than the default, in a quarter of the time.
        self._zip = ZipFile(_Sealed(self._file), "w", ZIP_DEFLATED, compresslevel=1)  # type: ignore[call-overload]

    def add_rows(self, table: str, first: int, lines: list[bytes]) -> None:
        """Add rows of a table, of which the first is the `first`."""
        name = f"tables/{table}/{first:010}-{first + len(lines) - 1:010}.jsonl"
        self._zip.writestr(name, b"\n".join(lines))

    def add_file(self, name: str, path: Path) -> bool:
        """Add a file; False where it has gone meanwhile."""
        try:
            source = storage.opened(path)
        except FileNotFoundError:
            return False
        with source, self._zip.open(f"files/{name}", "w", force_zip64=True) as sink:
            shutil.copyfileobj(source, sink, _BLOCK)
        return True

    def close(self, manifest: dict[str, Any]) -> None:
        """Write what it holds, seal it and put it in its place."""
        self._zip.writestr(_MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
        self._zip.comment = _BLANK
        self._zip.close()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Leave nothing behind of a backup that was not closed."""
        self._zip.fp = None  # which would write its end when it is forgotten
        self._file.close()
        self._part.unlink(missing_ok=True)


class Reader:
    """A backup that was read through and found as it was written."""

    def __init__(self, path: Path, kind: str = INSTALLATION) -> None:
        """Raises Refused, with the places that are damaged, or for what is no such file."""
        if not _is_sealed(path):
            raise Refused(f"{path} is damaged, or no {_WORDS[kind]}: {'; '.join(_damaged(path))}.")
        try:
            self._zip = ZipFile(path)
            self._check_sizes(path)
            self.manifest: dict[str, Any] = orjson.loads(self._zip.read(_MANIFEST))
            made, found = self.manifest["format"], self.manifest.get("kind", INSTALLATION)
        except (*_BROKEN, KeyError, TypeError, ValueError, AttributeError) as error:
            raise Refused(f"{path} is no {_WORDS[kind]}: {_MANIFEST} cannot be read.") from error
        if made != FORMAT:
            raise Refused(f"{path} was made by a newer version of Assay.")
        if found != kind:
            raise Refused(
                f"{path} is no {_WORDS[kind]}, but a {_WORDS.get(found, 'another file')}."
            )

    @property
    def names(self) -> list[str]:
        """Everything in it, by name."""
        return self._zip.namelist()

    def pieces(self, table: str) -> Iterator[tuple[str, list[bytes]]]:
        """The rows of a table in their order, with the place at which they stand."""
        for name in self._zip.namelist():
            if (found := _PIECE.fullmatch(name)) and found[1] == table:
                yield _place(name), self._zip.read(name).split(b"\n")

    def _check_sizes(self, path: Path) -> None:
        """Raises Refused for a file that would unpack to far more than rows ever did."""
        infos = self._zip.infolist()
        for each in infos:
            if each.filename.startswith("tables/") and each.file_size > _MOST_BYTES:
                raise Refused(
                    f"{path}: {_place(each.filename)} unpack to {each.file_size:,} bytes."
                )
        whole = sum(each.file_size for each in infos)
        if whole > _MOST_BYTES and whole > _MOST_RATIO * path.stat().st_size:
            raise Refused(f"{path} would unpack to {whole:,} bytes, which no rows do.")

    def files(self) -> Iterator[tuple[str, BinaryIO]]:
        """The files by their names, each of which stays below any folder that it is put into."""
        for name in self._zip.namelist():
            path = PurePosixPath(name)
            if path.parts[0] == "files" and ".." not in path.parts:
                with self._zip.open(name) as source:
                    yield str(PurePosixPath(*path.parts[1:])), source  # type: ignore[misc]


def _is_sealed(path: Path) -> bool:
    digest, left = hashlib.sha256(), path.stat().st_size - len(_BLANK)
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            digest.update(block)
            left -= len(block)
        return left == 0 and file.read() == digest.hexdigest().encode()


def _damaged(path: Path) -> list[str]:
    """Where the file is not as it was written."""
    try:
        archive = ZipFile(path)
    except (*_BROKEN, OSError, ValueError):
        return ["it has no readable directory at its end, so it may be cut short"]
    with archive:
        places = [_place(name) for name in archive.namelist() if not _is_whole(archive, name)]
    return places or ["between its parts or in its seal, and in no row or file"]


def _is_whole(archive: ZipFile, name: str) -> bool:
    try:
        with archive.open(name) as member:
            while member.read(_BLOCK):
                pass
    except (*_BROKEN, OSError, ValueError):
        return False
    return True


def _place(name: str) -> str:
    found = _PIECE.fullmatch(name)
    return f"{found[1]}, rows {int(found[2]):,} to {int(found[3]):,}" if found else name
