"""Files that every machine must find: below ASSAY_DATA, or with ASSAY_STORAGE in one S3 storage.

A file has the same name in both, its path from ASSAY_DATA on; rows keep whole paths, so machines
that share a storage call their data folders alike. What is put into the storage leaves the disk:
a copy there would outlive what others delete. Where the storage does not answer, OSError is raised.
"""

import errno
import os
import shutil
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages

FILES: Final = "files"
_BLOCK: Final = 2**20


class Stored(NamedTuple):
    """A file in the storage: where it would lie here, its bytes, and when it was put there."""

    path: Path
    size: int
    at: datetime


def put(source: Path, path: Path) -> None:
    """Give a finished file or folder its place, which may be where it is; it leaves the source.

    A file appears whole or not at all. A folder replaces the one that was there, file by file.
    """
    if not _is_shared(path):
        if source.is_dir():
            os.replace(source, path)
        elif source != path:
            shutil.move(source, path)
    elif source.is_dir():
        drop(path)
        for each in sorted(each for each in source.rglob("*") if each.is_file()):
            _save(each, path / each.relative_to(source))
        shutil.rmtree(source)
    else:
        _save(source, path)
        source.unlink()


def opened(path: Path) -> IO[bytes]:
    """The file for reading; raises OSError where it is gone."""
    if not _is_shared(path):
        return path.open("rb")
    with _answering():
        file = storages[FILES].open(_name(path))
        file.seek(0)  # now, and not at the first read, it is told whether there is such a file
        return file  # type: ignore[return-value]


def size(path: Path) -> int | None:
    """Bytes of the file; None where it is gone."""
    with suppress(OSError):
        if not _is_shared(path):
            return path.stat().st_size
        with _answering():
            return storages[FILES].size(_name(path))
    return None


def drop(path: Path) -> None:
    """Delete the file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    if _is_shared(path):
        with _answering():
            for each in [path, *(each.path for each in listed(path))]:
                storages[FILES].delete(_name(each))


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of each file of a folder, by its path inside it."""
    if not _is_shared(folder):
        files = [each for each in folder.rglob("*") if each.is_file()]
        return {each.relative_to(folder).as_posix(): each.stat().st_size for each in files}
    return {each.path.relative_to(folder).as_posix(): each.size for each in listed(folder)}


def check(seconds: float) -> None:
    """Raise OSError where the storage does not let us list files, asked once for so long."""
    from botocore.config import Config

    there: Any = storages.create_storage(settings.STORAGES[FILES])  # not the one with patience
    once = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1})
    there.client_config = there.client_config.merge(once)
    with _answering():
        there.connection.meta.client.list_objects_v2(
            Bucket=there.bucket_name, Prefix=f"{there.location}/".lstrip("/"), MaxKeys=1
        )


def listed(folder: Path) -> Iterator[Stored]:
    """The files of a folder in the storage; none without a storage."""
    if _is_shared(folder):
        there: Any = storages[FILES]
        start = f"{there.location}/{_name(folder)}/".lstrip("/")
        with _answering():
            for each in there.bucket.objects.filter(Prefix=start):
                yield Stored(folder / each.key.removeprefix(start), each.size, each.last_modified)


@contextmanager
def local(path: Path) -> Iterator[Path]:
    """The file or folder on this disk, under its own name, for as long as the block runs.

    Raises OSError where a file is gone; a folder that is gone is not there.
    """
    if not _is_shared(path) or path.exists():
        yield path
        return
    uploads = Path(settings.UPLOADS)  # where what a killed process leaves is swept up
    uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetched-", dir=uploads) as folder:
        here = Path(folder, path.name)
        for each in [each.path for each in listed(path)] or [path]:
            target = here / each.relative_to(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened(each) as source, target.open("xb") as sink:
                shutil.copyfileobj(source, sink, _BLOCK)
        yield here


def keep_copy(folder: Path) -> None:
    """Put a copy of a folder, whose name says what it holds, into the storage as one file."""
    if not _is_shared(folder):
        return
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as place:
        packed = Path(place, _packed(folder).name)
        with tarfile.open(packed, "w") as archive:
            archive.add(folder, ".")
        _save(packed, _packed(folder))


def fetch_copy(folder: Path) -> None:
    """Bring such a folder here whole, if it is in the storage and not here yet."""
    if not _is_shared(folder) or folder.is_dir():
        return
    place = folder.with_name(f".{uuid.uuid4().hex}")
    try:
        with opened(_packed(folder)) as source, tarfile.open(fileobj=source, mode="r|") as archive:
            archive.extractall(place, filter="data")
        place.rename(folder)
    except OSError:  # it is nowhere, or another worker was quicker
        return
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _packed(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.tar")


def _is_shared(path: Path) -> bool:
    return FILES in settings.STORAGES and path.is_relative_to(settings.ASSAY_DATA)


def _name(path: Path) -> str:
    return path.relative_to(settings.ASSAY_DATA).as_posix()


def _save(source: Path, path: Path) -> None:
    with _answering(), source.open("rb") as file:
        storages[FILES].save(_name(path), File(file))


@contextmanager
def _answering() -> Iterator[None]:
    """Errors of the storage's client as what they are to us."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise OSError(errno.EREMOTEIO, f"The storage does not answer ({error})") from error
