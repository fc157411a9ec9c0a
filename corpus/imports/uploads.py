"""Files that people upload for import: kept under names of our making until the import is over."""

import re
import shutil
import uuid
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

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
