"""Reading a release's files line by line: what cannot be read is a difference like any other."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

Pair = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """One row that does not hold: where it stands, and why."""

    file: str
    why: str
    query: str = ""
    passage: str = ""

    def __str__(self) -> str:
        names = [f"query {self.query}"] if self.query else []
        names += [f"passage {self.passage}"] if self.passage else []
        return f"{self.file}: {', '.join(names)}{': ' if names else ''}{self.why}"


def objects(
    folder: Path, name: str, faults: list[Difference], **needed: type
) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines that have these fields, each of its type.

    Any other line goes to `faults` with its number.
    """
    with (folder / name).open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                row = None
            if isinstance(row, dict) and all(type(row.get(k)) is t for k, t in needed.items()):
                yield row
            else:
                fields = ", ".join(needed)
                faults.append(Difference(name, f"line {number} is no object with {fields}"))


def columns(
    folder: Path, name: str, faults: list[Difference], *, apart: str
) -> Iterator[list[str]]:
    """The columns of each line whose last one is a whole number, `apart` by this sign.

    There are four apart by blanks (TREC), three apart by tabs under a header (BEIR); any other
    line goes to `faults` with its number.
    """
    wanted = {" ": 4, "\t": 3}[apart]
    lines = (folder / name).read_bytes().decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line or (apart == "\t" and number == 1):
            continue
        found = line.split(apart)
        if len(found) == wanted and found[-1].removeprefix("-").isdecimal():
            yield found
        else:
            faults.append(Difference(name, f"line {number} is no line of {wanted} columns"))
