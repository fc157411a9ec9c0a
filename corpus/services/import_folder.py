"""The folder on this machine from which admins import without uploading; nothing outside it.

What may be read is decided by where a path really lies: a link that leads out is as good as absent.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from corpus.importers.listing import MOST_ENTRIES
from kit.errors import Refused

# Names that are listed; what is deeper or beyond is reached by the API, by its path.
MOST_NAMES = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder to choose."""

    name: str
    is_folder: bool


def is_set() -> bool:
    """Whether this installation has an import folder."""
    return bool(settings.ASSAY_IMPORT_FOLDER)


def entries() -> list[Entry]:
    """What lies directly in the import folder, by name; nothing hidden, no link that leads out."""
    root = _root()
    if root is None:
        return []
    with os.scandir(root) as found:
        visible = [Path(each.path) for each in found if not each.name.startswith(".")]
    inside = [each for each in sorted(visible) if _is_inside(each, root)]
    return [Entry(each.name, each.is_dir()) for each in inside[:MOST_NAMES]]


def find(name: str) -> Path:
    """The file or folder of this name, or of this path below the folder.

    Raises Refused unless it is there and it and everything in it lies in the import folder.
    """
    root = _root()
    if root is None:
        raise Refused("This installation has no import folder.", field="stored")
    path = root / name
    parts = Path(name).parts
    is_plain = bool(parts) and not any(each.startswith(".") or "\x00" in each for each in parts)
    if not is_plain or not _is_inside(path, root) or not path.exists():
        raise Refused(f"There is no {name[:80]!r} in the import folder.", field="stored")
    if not all(_is_inside(each, root) for each in _links(path)):
        message = f"{name[:80]!r} holds a link that leads out of the import folder."
        raise Refused(message, field="stored")
    return path


def _root() -> Path | None:
    folder = Path(settings.ASSAY_IMPORT_FOLDER) if is_set() else None
    return folder.resolve() if folder is not None and folder.is_dir() else None


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that cannot be one
        return False


def _links(path: Path) -> Iterator[Path]:
    """Links in a folder, however deep; raises Refused for more than anybody should look through."""
    seen = 0
    for place, folders, files in os.walk(path):
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            raise Refused(f"The folder holds more than {MOST_ENTRIES:,} files.", field="stored")
        yield from (each for name in (*folders, *files) if (each := Path(place, name)).is_symlink())
