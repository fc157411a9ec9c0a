"""What a verb may answer instead of doing it."""

from collections.abc import Sequence
from typing import Any


class Refused(Exception):
    """The verb cannot be done now; the message says why and what to do, in words for people."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Conflict(Exception):
    """Somebody else changed the row since it was read; carries the row as it is now.

    `fields` names those that both changed, where the verb looks at fields.
    """

    def __init__(self, current: Any, *, fields: Sequence[str] = ()) -> None:
        super().__init__("This was changed by somebody else meanwhile.")
        self.current = current
        self.fields = tuple(fields)
