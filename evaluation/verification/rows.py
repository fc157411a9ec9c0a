"""Reading a release's files line by line: what cannot be read is a difference like any other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

Pair = tuple[str, str]
_ASPECT = re.compile(r"(.*)-a([0-9]+)", re.DOTALL)
# What reading a file that somebody touched may raise.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)


class NotDerived(ValueError):
    """A row's own evidence gives no label, or contradicts itself; the words say why."""


def why_not(error: Exception) -> str:
    """Why a row's evidence gives no label, in words."""
    if isinstance(error, NotDerived):
        return str(error)
    return f"its evidence cannot be read ({error!r})"


@dataclass(frozen=True)
class Difference:
    """One row that is wrong: in which file, and why."""

    file: str
    why: str
    query: str = ""
    passage: str = ""

    def __str__(self) -> str:
        names = [f"query {self.query}"] if self.query else []
        names += [f"passage {self.passage}"] if self.passage else []
        return f"{self.file}: {', '.join(names)}{': ' if names else ''}{self.why}"


@dataclass
class Report:
    """What was checked and what was wrong; `unverified` counts labels whose evidence is not all
    there, `votes` is the end of the chain of votes."""

    files: int = 0
    labels: int = 0
    derived: int = 0
    unverified: int = 0
    votes: str = ""
    differences: list[Difference] = field(default_factory=list)

    def add(self, file: str, why: str, *pair: str) -> None:
        """Note a difference; `pair` is a query id, or one with a passage id."""
        self.differences.append(Difference(file, why, *pair))


def objects(folder: Path, name: str, report: Report, **needed: type) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines that have these fields, each of its type.

    Any other line is a difference, named by its number.
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
                report.add(name, f"line {number} is no object with {', '.join(needed)}")


def columns(folder: Path, name: str, report: Report, *, separator: str) -> Iterator[list[str]]:
    """The columns of each line whose last one is a whole number.

    There are four separated by blanks (TREC), or three by tabs under a header (BEIR); any other
    line is a difference, named by its number.
    """
    count = {" ": 4, "\t": 3}[separator]
    lines = (folder / name).read_bytes().decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line or (separator == "\t" and number == 1):
            continue
        found = line.split(separator)
        if len(found) == count and found[-1].removeprefix("-").isdecimal():
            yield found
        else:
            report.add(name, f"line {number} is no line of {count} columns")


def query_of(aspect: str, split: str) -> tuple[str, str]:
    """The query and the number of an aspect, by its id; raises ValueError."""
    match = _ASPECT.fullmatch(aspect.removeprefix(f"{split}-"))
    if match is None:
        raise ValueError(f"aspects/{split}.parquet: {aspect!r} is no aspect's id")
    return match[1], match[2]


def subtopic_labels_of(path: Path, split: str) -> Iterator[tuple[str, str, str, int]]:
    """(query, subtopic, passage, label) of a file of aspects, where it tells them."""
    columns = ["id", "subtopic", "subtopic_judged", "subtopic_labels"]
    if not path.is_file() or not set(columns) <= set(pq.read_schema(path).names):
        return
    for row in pq.read_table(path, columns=columns).to_pylist():
        qid, _ = query_of(row["id"], split)
        for pid, label in zip(row["subtopic_judged"], row["subtopic_labels"], strict=True):
            yield qid, row["subtopic"], pid, label


def supports_of(path: Path) -> Iterator[tuple[str, str]]:
    """(id of the aspect, passage that counts as its support) of a file of aspects."""
    with pq.ParquetFile(path) as table:
        names = ("supporting_docs", "subtopic_docs")
        listed = [name for name in names if name in table.schema_arrow.names]
        for row in table.read(columns=["id", *listed]).to_pylist():
            for name in listed:
                yield from ((row["id"], pid) for pid in row[name] or ())
