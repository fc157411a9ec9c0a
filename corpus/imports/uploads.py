"""Files that people upload for import: kept under names of our making until the import is over."""

import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from corpus.importers.archive import BadArchive, unpack
from corpus.models import ImportRun
from kit.errors import Refused


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
            shutil.rmtree(uploads / path.relative_to(uploads).parts[0], ignore_errors=True)


@contextmanager
def unpacked(archive: Path, *, owner: str) -> Iterator[Path | BadArchive]:
    """The files of a zip, or why it cannot be taken, for as long as the block runs."""
    target = Path(settings.UPLOADS) / owner
    # A load that was killed may have left its files here.
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700, parents=True)
    try:
        yield _unpack(archive, target)
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _unpack(archive: Path, target: Path) -> Path | BadArchive:
    try:
        return unpack(archive, target, most_bytes=settings.ASSAY_IMPORT_LIMIT)
    except BadArchive as fault:
        return fault
