"""Where releases lie, and how a finished folder takes its place in one step."""

import os
import shutil
from pathlib import Path

from django.conf import settings

from evaluation.models import Release
from kit.errors import Refused


def folder_for(slug: str, version: str) -> Path:
    """Folder of a release built from the screens."""
    return Path(settings.RELEASES) / slug / version


def workplace(folder: Path, release: Release) -> Path:
    """A folder beside the final one in which this claim of the release builds.

    What earlier, dead claims of the same release left there is swept away.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    stem = f".{folder.name}.building-{release.pk}-"
    for left in folder.parent.glob(f"{stem}*"):
        shutil.rmtree(left, ignore_errors=True)
    return folder.parent / f"{stem}{release.fence}"


def is_free(folder: Path) -> bool:
    """Whether a release may take this place: nothing there, or an empty folder."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def publish(built: Path, folder: Path) -> None:
    """Rename the finished folder to its place: it is there wholly or not at all.

    Under settings.RELEASES a folder that is in the way was left by a claim that died between this
    rename and its commit, and is replaced. Elsewhere it is somebody's: raises Refused.
    """
    if not is_free(folder):
        if not folder.is_relative_to(settings.RELEASES):
            raise Refused(f"{folder} is not empty. Choose a folder that does not exist yet.")
        shutil.rmtree(folder)
    os.replace(built, folder)
