"""Files of lines, always UTF-8 with a bare newline, whatever the platform."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write the lines and return their number; the file exists even without any."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(f"{line}\n")
            count += 1
    return count


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """One JSON object a line, keys in the order given."""
    return write_lines(path, (orjson.dumps(row).decode() for row in rows))
