"""Commands as they are typed, with all that they print: a transcript that can be kept.

JSON is compared with its keys sorted: PostgreSQL keeps them in an order of its own.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command

_MOST_LINES, _MOST_OF_LONG = 120, 12
# What is another each time: keys of links, ports, seconds that something took, moments, and the
# keys of cases, which open as debates end.
_MASKS = (
    (re.compile(r"(/sign-in/)[\w-]{20,}"), r"\1TOKEN"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b\d+\.\d\d s\b"), "0.00 s"),
    (re.compile(r'("seconds": )[\d.]+'), r"\g<1>0.0"),
    (re.compile(r'("case_pk": )\d+'), r"\g<1>0"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    # A retrieval run's digest: its scores have last digits that are the processor's.
    (re.compile(r'("depth": \d+,\s+"digest": )"\w+"'), r'\1"DIGEST"'),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d[\d:.]*Z?"), "MOMENT"),
)


class Shell:
    """Runs commands and notes what they print. `$NAME` in a command is one of `places`."""

    def __init__(self, **places: Path) -> None:
        self.places = {f"${name}": str(path) for name, path in places.items()}
        self._said: list[str] = []

    @property
    def transcript(self) -> str:
        return "\n".join(self._said) + "\n"

    def __call__(self, typed: str, *, is_foreign: bool = False, in_any_order: bool = False) -> None:
        """Run it; what it prints, with its error if it ends with one, is noted.

        Of what is foreign, such as a page of somebody's, a digest is noted and no word. Lines in
        any order are those that follow the keys of a JSON field.
        """
        words = shlex.split(typed)
        for name, path in self.places.items():
            words = [word.replace(name, path) for word in words]
        out, err = StringIO(), StringIO()
        ends = ""
        try:
            call_command(*words, stdout=out, stderr=err)
        except CommandError as error:
            ends = f"CommandError: {error}"
        except SystemExit as end:
            ends = f"exit {end.code}"
        printed = self._masked(_readable(out.getvalue()) + err.getvalue() + ends)
        if in_any_order:
            printed = "\n".join(sorted(printed.splitlines()))
        self._said += [f"$ {typed}", _told(printed, 0 if is_foreign else _MOST_LINES), ""]

    def note(self, title: str, text: str, most: int = _MOST_LINES) -> None:
        """Keep something else that can be seen, such as the answer to a request."""
        self._said += [f"# {self._masked(title)}", _told(self._masked(_readable(text)), most), ""]

    def note_files(self, folder: Path, name: str) -> None:
        """Keep every file below the folder, each with its digest."""
        self._said += [f"# {name}", *digests(folder, _alike), ""]

    def _masked(self, text: str) -> str:
        for name, path in self.places.items():
            text = text.replace(path, name)
        for pattern, instead in _MASKS:
            text = pattern.sub(instead, text)
        return text


def digests(folder: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> list[str]:
    """Every file below the folder as `sha256sum` prints it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f"{_sha256(read(path))}  {path.relative_to(folder)}" for path in files]


def _alike(path: Path) -> bytes:
    """The file; rows of JSON each with its keys sorted, a run without its scores."""
    lines = path.read_bytes().split(b"\n")
    if path.suffix == ".jsonl":
        lines = [json.dumps(json.loads(each), sort_keys=True).encode() for each in lines if each]
    if path.suffix == ".run":
        lines = [b" ".join(each.split()[:4]) for each in lines]
    return b"\n".join(lines)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _readable(text: str) -> str:
    """JSON over several lines, its numbers to ten digits: the last ones are the processor's."""
    if not text.startswith(("{", "[")):
        return text
    try:
        found: Any = json.loads(text, parse_float=lambda digits: float(f"{float(digits):.10g}"))
    except ValueError:
        return text
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _told(text: str, most: int) -> str:
    """The text, or where it is longer than so many lines a digest below its beginning."""
    lines = text.rstrip("\n").splitlines()
    if len(lines) <= most:
        return "\n".join(lines)
    told = f"... {len(text):,} characters, sha256 {_sha256(text.encode())}"
    return "\n".join([*lines[: min(most, _MOST_OF_LONG)], told])
