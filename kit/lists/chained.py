"""The record as lines of JSON that are chained: no line can be changed, moved or left out unseen.

`chain` of a line is the SHA-256 of the chain before it (the first has none) and of the line without
its own; the last line says how many events there are. It proves nothing about who wrote the file:
whoever can write all of it can chain it anew. A chain noted elsewhere, or an older file, can be
held against it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class Broken(Exception):
    """A line is not what was written; the message says which."""


def chained(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each row, and the last one."""
    chain, count = "", 0
    for row in rows:
        count, chain = count + 1, _link(chain, row)
        yield _text({**row, "chain": chain}) + "\n"
    yield _text({"events": count, "chain": chain}) + "\n"


def read_chained(lines: Iterable[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows with their chains, as far as they hold; raises Broken at the first that fails."""
    chain, count, number = "", 0, 0
    last: dict[str, Any] | None = None
    for number, line in enumerate(lines, start=1):
        if last is not None:
            raise Broken(f"Line {number} stands behind the last one.")
        row = _read(line, number)
        written = row.pop("chain", None)
        if row.keys() == {"events"}:
            last = row
            if (row["events"], written) != (count, chain):
                raise Broken(f"Line {number}: {count:,} events stand before it, with {chain[:12]}.")
            continue
        count, chain = count + 1, _link(chain, row)
        if written != chain:
            raise Broken(
                f"Line {number} (event {row.get('id')}) does not follow from those before."
            )
        yield row, chain
    if last is None:
        raise Broken(f"The file ends behind line {number:,}; its last line is missing.")


def _read(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise Broken(f"Line {number} is no event.")
    return row


def _link(before: str, row: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}{_text(row)}".encode()).hexdigest()


def _text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, separators=(",", ":"))
