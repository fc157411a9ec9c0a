"""Downloads of a finished release: one file, or all of them in one archive."""

import tempfile
import zipfile
from pathlib import Path
from typing import IO

from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_GET

from corpus.access import enter
from corpus.models import Role
from evaluation.models import Release
from evaluation.releases.views import get_release
from kit.runs import RunStatus

GONE = "The files of this release are no longer where they were built."
# Every entry of an archive gets this date, so that the same release is the same archive.
LONG_AGO = (1980, 1, 1, 0, 0, 0)


@require_GET
def release_file(request: HttpRequest, slug: str, pk: int, path: str) -> FileResponse:
    """One file as an attachment."""
    access = enter(request.user, slug, Role.ADMIN)
    return send_file(get_release(access, pk), path)


@require_GET
def release_archive(request: HttpRequest, slug: str, pk: int) -> FileResponse:
    """The whole folder as a zip archive."""
    access = enter(request.user, slug, Role.ADMIN)
    return send_archive(get_release(access, pk))


def send_file(release: Release, path: str) -> FileResponse:
    """One file as an attachment; only paths that the release itself lists exist, else 404."""
    _require_built(release)
    if path not in release.files:
        raise Http404("This release has no such file.")
    file = _open(release, path)
    return FileResponse(file, as_attachment=True, filename=path.replace("/", "-"))


def send_archive(release: Release) -> FileResponse:
    """The folder as a zip archive, written to a temporary file and sent from there."""
    _require_built(release)
    name = f"{release.benchmark.slug}-{release.version}"
    archive = tempfile.TemporaryFile()  # noqa: SIM115  (the response closes it)
    _pack(release, name, archive)
    archive.seek(0)
    return FileResponse(archive, as_attachment=True, filename=f"{name}.zip")


def _pack(release: Release, name: str, archive: IO[bytes]) -> None:
    # Stored as they are: parquet is compressed already.
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in release.files:
            entry = zipfile.ZipInfo(f"{name}/{path}", LONG_AGO)
            with (
                _open(release, path) as source,
                packed.open(entry, "w", force_zip64=True) as target,
            ):
                while block := source.read(1 << 20):
                    target.write(block)


def _require_built(release: Release) -> None:
    if release.status != RunStatus.DONE:
        raise Http404("This release is not built.")


def _open(release: Release, path: str) -> IO[bytes]:
    try:
        return (Path(release.folder) / path).open("rb")
    except OSError:
        raise Http404(GONE) from None
