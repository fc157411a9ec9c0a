"""Checksums of a release, in the format that `sha256sum -c` reads."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

SUMS = "SHA256SUMS"


def file_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """SHA-256 of every file under the folder by its path there, sorted.

    Files of `known` are not read again.
    """
    held = known or {}
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return {
        path: held.get(path) or file_sum(folder / path)
        for path in paths
        if (folder / path).is_file()
    }


def file_sum(path: Path) -> str:
    """SHA-256 of one file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write SHA256SUMS over all other files and return every sum, its own included."""
    sums = file_sums(folder, known)
    (folder / SUMS).write_bytes(sums_text(sums).encode())
    return {**sums, SUMS: file_sum(folder / SUMS)}


def sums_text(sums: Mapping[str, str]) -> str:
    """The lines of SHA256SUMS."""
    return "".join(f"{digest}  {path}\n" for path, digest in sums.items())
