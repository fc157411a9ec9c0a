"""What was made of a corpus, counted while it is written, so that nobody reads it all again."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

# Places in `figures` that are sums of what was written, and no counts of what came up.
MADE, DIGEST = "made", "digest"


class Tally:
    """Passages by domain, the digest so far, and counts by name; kept in a row's `figures`."""

    def __init__(self, figures: Mapping[str, Any], names: Mapping[int, str]) -> None:
        self._counts = {k: v for k, v in figures.items() if k not in (MADE, DIGEST)}
        self._made: dict[str, int] = dict(figures.get(MADE, {}))
        self._sum = int(figures.get(DIGEST, "0"), 16)
        self._names = names

    @property
    def figures(self) -> dict[str, Any]:
        """As a row keeps it."""
        return self._counts | {MADE: dict(self._made), DIGEST: in_hex(self._sum)}

    def count(self, name: str, more: int = 1) -> None:
        """Something came up."""
        self._counts[name] = self._counts.get(name, 0) + more

    def add(self, rows: Iterable[tuple[int, str, str | None]]) -> None:
        """Passages (domain's key, id, text) that are written in the same transaction."""
        for domain, pid, text in rows:
            key = str(domain)
            self._made[key] = self._made.get(key, 0) + 1
            self._sum += digest_of_row((self._names[domain], pid, text))


def digest_of(rows: Iterable[tuple[str, str, str | None]]) -> str:
    """A version's digest from (domain, id, text): the same whatever order they come in."""
    return in_hex(sum(map(digest_of_row, rows)))


def digest_of_row(row: tuple[str, str, str | None]) -> int:
    """What a passage adds to the digest."""
    return int.from_bytes(sha256(json.dumps(row, ensure_ascii=True).encode()).digest())


def in_hex(total: int) -> str:
    """A sum of such numbers, as it is stored."""
    return f"{total % (1 << 256):064x}"


def summed(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of several workers' parts as one; mappings in them are summed by name."""
    found: dict[str, Any] = {}
    total = 0
    for part in parts:
        total += int(part.get(DIGEST, "0"), 16)
        for name, value in part.items():
            if isinstance(value, Mapping):
                sums = found.setdefault(name, {})
                for key, count in value.items():
                    sums[key] = sums.get(key, 0) + count
            elif name != DIGEST:
                found[name] = found.get(name, 0) + value
    return found | {DIGEST: in_hex(total)}
