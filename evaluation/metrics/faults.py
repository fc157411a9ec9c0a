"""What is refused, in words that name the place."""

from collections.abc import Collection, Iterable, Sequence

from corpus.importers.fields import text_fault

# So many of a kind are named; the rest is counted.
MAX_NAMED = 20


class MetricFault(ValueError):
    """Input that no measure can be computed from; `messages` names each fault."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = list(messages)
        super().__init__("\n".join(self.messages))

    @classmethod
    def of(cls, messages: Iterable[str]) -> "MetricFault":
        """The first twenty, and how many more there are."""
        found = list(messages)
        more = len(found) - MAX_NAMED
        return cls(
            [*found[:MAX_NAMED], *([f"… and {more:,} more like these."] if more > 0 else [])]
        )


def check_ids(ids: Collection[object], owner: str) -> None:
    """Raise MetricFault unless every id is a text that is not empty and valid Unicode.

    `owner` begins each message, as in "query 12".
    """
    if not _are_sound(ids):
        raise MetricFault.of(
            f"{owner}: passage id {str(each)[:80]!r}: {fault}"
            for each in ids
            if (fault := id_fault(each))
        )


def id_fault(value: object) -> str:
    """Why this cannot be an id, or "". How long an id may be is a matter of databases."""
    if not isinstance(value, str):
        return "an id must be a text."
    return text_fault(value) if value else "An id cannot be empty."


def _are_sound(ids: Collection[object]) -> bool:
    """The same for all at once, many times as fast."""
    try:
        joined = "".join(ids)  # type: ignore[arg-type]
        joined.isascii() or joined.encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return "\x00" not in joined and "" not in ids
