"""Files that people upload for import: kept under names of our making until the import is over."""

import contextlib
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from corpus.models import ImportRun
from kit import storage
from kit.backup.paths import move_paths
from kit.errors import Refused
from kit.runs.models import OVER

# Seconds after which nobody is still sending or queueing a file.
_OLD: Final = 24 * 3600


def keep_upload(folder: Path, upload: UploadedFile, *, field: str) -> Path:
    """Store an uploaded file in the folder; raises Refused if it is too large."""
    limit = settings.ASSAY_UPLOAD_LIMIT
    if (upload.size or 0) > limit:
        message = f"The file is larger than {limit // 2**20} MB; load it by command instead."
        raise Refused(message, field=field)
    path = folder / safe_name(upload.name or "")
    with path.open("xb") as sink:
        for block in upload.chunks():
            sink.write(block)
    return path


def new_folder() -> Path:
    """A fresh folder of its own for one import's files."""
    folder = Path(settings.UPLOADS) / uuid.uuid4().hex
    folder.mkdir(mode=0o700, parents=True)
    return folder


def safe_name(given: str) -> str:
    """The last part of a client's file name in plain characters; its endings say the format."""
    last = re.split(r"[/\\]", given)[-1]
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", last).lstrip(".")
    return name[-100:].lstrip(".") or "file"


def forget_upload(run: ImportRun) -> None:
    """Delete the uploaded files of an import; files that were not uploaded stay."""
    uploads = Path(settings.UPLOADS).resolve()
    for path in map(Path, filter(None, (run.path, run.qrels_path))):
        if uploads in path.parents[1:]:
            # The folder of this import's own, right inside that of all uploads.
            storage.drop(Path(settings.UPLOADS) / path.relative_to(uploads).parts[0])


def sweep_uploads() -> int:
    """Delete old files of uploads that no import waits for; return how many.

    A process that was killed leaves them: in the middle of a request, or of an import.
    """
    rows = ImportRun.objects.exclude(status__in=OVER).values_list("pk", "path", "qrels_path")
    uploads = Path(settings.UPLOADS)
    kept = {f"import-{pk}" for pk, _, _ in rows}
    for path in (Path(each) for row in rows for each in row[1:] if each):
        kept |= {parent.name for parent in path.parents if parent.parent == uploads}
    swept = 0
    for path in _old_files():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            swept += 1
    for path, _, put_at in storage.listed(uploads):
        is_old = time.time() - put_at.timestamp() > _OLD
        if is_old and path.relative_to(uploads).parts[0] not in kept:
            storage.drop(path)
            swept += 1
    return swept


def move_uploads(before: Path) -> None:
    """Let imports find their files in this data folder after a restore from another one."""
    for field in ("path", "qrels_path"):
        move_paths(ImportRun, field, before)


def _old_files() -> Iterator[Path]:
    """What lies in the folder of uploads, and what Django takes in beside it."""
    coming = Path(settings.ASSAY_DATA).glob("*.upload*")
    uploads = Path(settings.UPLOADS)
    for path in [*coming, *(uploads.iterdir() if uploads.is_dir() else ())]:
        with contextlib.suppress(FileNotFoundError):  # its import has just ended
            if time.time() - path.stat().st_mtime > _OLD:
                yield path
