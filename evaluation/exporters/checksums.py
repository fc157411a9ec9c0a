"""Checksums of a release, in the format that `sha256sum -c` reads."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUMS = "SHA256SUMS"


def file_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """SHA-256 of every file under the folder by its path there, sorted.

    Files of `known` are not read again.
    """
    files = [path for path in folder.rglob("*") if path.is_file()]
    paths = sorted(path.relative_to(folder).as_posix() for path in files)
    # Digests leave the interpreter to others: every processor takes a file.
    with ThreadPoolExecutor() as pool:
        sums = pool.map(lambda path: (known or {}).get(path) or file_sum(folder / path), paths)
        return dict(zip(paths, sums, strict=True))


def file_sum(path: Path) -> str:
    """SHA-256 of one file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write SHA256SUMS over all other files and return every sum, its own included."""
    (folder / SUMS).unlink(missing_ok=True)
    sums = file_sums(folder, known)
    (folder / SUMS).write_bytes(sums_text(sums).encode())
    return {**sums, SUMS: file_sum(folder / SUMS)}


def sums_text(sums: Mapping[str, str]) -> str:
    """The lines of SHA256SUMS."""
    return "".join(f"{digest}  {path}\n" for path, digest in sums.items())
