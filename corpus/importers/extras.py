"""Fields that have no name here, kept as they are where JSON can hold them."""

import math
from collections.abc import Collection
from typing import Any

from corpus.importers.fields import Record, text_fault
from corpus.importers.rows import Oddity

_DEPTH = 32
_INTEGERS = range(-(2**63), 2**63)
NOT_KEPT = "unknown fields that cannot be stored, left out"


def other_fields(
    record: Record, known: Collection[str], owner: str
) -> tuple[dict[str, Any] | None, list[Oddity]]:
    """Every given field but the known ones, and an oddity for each that cannot be kept."""
    found = given_extras(record.data, known)
    kept = {name: value for name, value in found.items() if is_storable_as_extra(name, value)}
    dropped = [Oddity(NOT_KEPT, f"{owner}: {name[:80]!r}") for name in found.keys() - kept.keys()]
    return kept or None, dropped


def given_extras(data: dict[str, Any], known: Collection[str] = ()) -> dict[str, Any]:
    """The fields that say something: null and an empty object do not."""
    return {
        name: value
        for name, value in data.items()
        if value is not None and value != {} and name not in known
    }


def is_storable_as_extra(name: str, value: Any) -> bool:
    """Whether a field can be kept beside its record."""
    return not text_fault(name) and is_storable(value)


def is_storable(value: Any, depth: int = _DEPTH) -> bool:
    """Whether a value comes out of a JSON column of any database as it went in."""
    if isinstance(value, str):
        return not text_fault(value)
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return value in _INTEGERS
    if isinstance(value, float):
        return math.isfinite(value)
    if depth == 0:
        return False
    if isinstance(value, list):
        return all(is_storable(each, depth - 1) for each in value)
    if isinstance(value, dict):
        names_fit = all(isinstance(name, str) and not text_fault(name) for name in value)
        return names_fit and all(is_storable(each, depth - 1) for each in value.values())
    return False
