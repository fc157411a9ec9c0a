"""Which requests a worker gave to the transport: a mark a call, in a file that outlives it.

The ledger's intent is committed before a request is sent, so a worker that is killed between the
two leaves a row of which nobody could tell whether it was paid for. Right before a request goes
to the transport its worker puts the call's id into a file of its own; whatever was written there
stays, however the process ends. An intent of a dead worker without a mark was never sent.

The file is mapped into memory, in chunks whose place on the disk is taken beforehand: a mark is
then no system call, which would let other threads take the processor once a call.

A mark file is believed on the machine that wrote it and until that machine starts again: its
first line names that start (`boot`). Elsewhere, and where a file is gone, nothing is known, and
every open call counts as handed over. The writer holds a lock while it lives, so a worker that is
merely stopped is not taken for a dead one.
"""

import contextlib
import fcntl
import logging
import mmap
import os
import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self

from django.conf import settings

logger = logging.getLogger(__name__)
_ENDING: Final = ".marks"
# Ids stand behind a first page, eight bytes each; no call has the id 0.
_ID: Final = struct.Struct("=Q")
_PAGE: Final = mmap.ALLOCATIONGRANULARITY
_CHUNK: Final = 16 * _PAGE
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Marks:
    """What is known of the worker of that token: whether it lives, and what it handed over."""

    token: str
    is_alive: bool
    call_ids: frozenset[int]


class Handover:
    """The marks of one worker: `open`, then `mark` before each request, then `close`.

    `owner` is the name under which its calls stand in the ledger: "host:pid:token".
    """

    def __init__(self, name: str) -> None:
        self.token = secrets.token_hex(8)
        self.owner = f"{name}:{self.token}"
        self._file: int | None = None
        self._chunk: mmap.mmap | None = None
        self._at, self._chunks = 0, 0

    def open(self) -> Self:
        """Begin the file; where that cannot be, all calls of this worker count as handed over."""
        path = _path(self.token)
        # Under another name until it is locked: nobody takes its worker for dead meanwhile.
        unlocked = path.with_suffix(".new")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._file = os.open(unlocked, flags, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            _write(self._file, f"{boot()}\n".encode().ljust(_PAGE, b"\0"), 0)
            self._grow(self._file)
            unlocked.rename(path)
        except OSError as error:
            logger.warning("no marks can be kept at %s: %s", path.parent, error)
            with contextlib.suppress(OSError):
                unlocked.unlink()
            self.close()
        return self

    def mark(self, call_id: int) -> None:
        """Note that the call's request goes to the transport now.

        On a disk that takes no more the file is given up: then every call counts as handed over.
        Raises OSError if even that fails; nothing may be sent then.
        """
        if self._file is None:
            return
        try:
            if self._at == _CHUNK:
                self._grow(self._file)
            assert self._chunk is not None
            _ID.pack_into(self._chunk, self._at, call_id)
            self._at += _ID.size
        except OSError as error:
            logger.warning("no mark can be made: %s", error)
            _path(self.token).unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """End the marks; the file stays until the ledger has no open call of this worker."""
        if self._chunk is not None:
            self._chunk.close()
            self._chunk = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _grow(self, file: int) -> None:
        """Take the next chunk; written first, so that a full disk is an error and no signal."""
        start = _PAGE + self._chunks * _CHUNK
        _write(file, bytes(_CHUNK), start)
        if self._chunk is not None:
            self._chunk.close()
        self._chunk = mmap.mmap(file, _CHUNK, offset=start)
        self._at, self._chunks = 0, self._chunks + 1


@contextlib.contextmanager
def reading(token: str) -> Iterator[Marks | None]:
    """The marks under that token; None where nothing is known. Its file stays put meanwhile."""
    try:
        file = os.open(_path(token), os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError):
        yield None
        return
    try:
        is_alive = not _is_free(file)
        with os.fdopen(os.dup(file), "rb") as lines:
            yield _marks(token, lines.read(), is_alive=is_alive)
    finally:
        os.close(file)


def tokens() -> list[str]:
    """Of every worker that left a file here."""
    return sorted(path.stem for path in _folder().glob(f"*{_ENDING}"))


def is_older(token: str, moment: float) -> bool:
    """Whether the last mark was made before that moment, in seconds since the epoch."""
    try:
        return _path(token).stat().st_mtime < moment
    except OSError:
        return False


def forget(token: str) -> None:
    """Remove the file of a dead worker."""
    _path(token).unlink(missing_ok=True)


def token_of(owner: str) -> str:
    """The token in the name of a call's owner; "" where it has none."""
    return owner.rpartition(":")[2] if owner.count(":") == 2 else ""


@cache
def boot() -> str:
    """What tells this start of this machine from any other; "" where the system does not say."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _marks(token: str, content: bytes, *, is_alive: bool) -> Marks | None:
    """None for another machine, or this one before it started: what it held back may be lost."""
    first = content[:_PAGE].partition(b"\n")[0]
    if not boot() or first.decode("ascii", "replace") != boot():
        return None
    ids = content[_PAGE : len(content) - len(content) % _ID.size]
    return Marks(token, is_alive, frozenset(each for (each,) in _ID.iter_unpack(ids) if each))


def _write(file: int, content: bytes, start: int) -> None:
    """All of it, or an OSError."""
    written = os.pwrite(file, content, start)
    if written != len(content):
        raise OSError(f"{written} of {len(content)} bytes could be written.")


def _is_free(file: int) -> bool:
    """Whether no writer holds it; readers do not keep each other out."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _folder() -> Path:
    return Path(settings.HANDOVER)


def _path(token: str) -> Path:
    # Tokens come back out of the database: none of them is a way to another folder.
    if not token.isalnum():
        raise ValueError("That is no token.")
    return _folder() / f"{token}{_ENDING}"
