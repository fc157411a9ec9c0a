"""Merging two people's edits of one row, field by field. Pure.

Three values decide on a field: what the form was based on, what it says now (mine), and what is
stored (theirs). Only where both sides moved away from the base, to different values, must a
person choose.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Fields = Mapping[str, object]


@dataclass(frozen=True)
class Merged:
    """What of mine has to be written, and which of these fields somebody else changed too."""

    changed: dict[str, object]
    clashing: tuple[str, ...]


def merge(*, base: Fields, mine: Fields, theirs: Fields) -> Merged:
    """Merge my fields into theirs; a field whose base is not known counts as changed by both."""
    changed = {
        name: value
        for name, value in mine.items()
        if value != theirs[name] and not (name in base and base[name] == value)
    }
    clashing = [
        name for name in changed if name not in base or plain(base[name]) != plain(theirs[name])
    ]
    return Merged(changed, tuple(clashing))


def plain(value: object) -> object:
    """A text as a form sends it back: line ends as one sign, no blanks around it."""
    if not isinstance(value, str):
        return value
    return value.replace("\r\n", "\n").replace("\r", "\n").strip()
