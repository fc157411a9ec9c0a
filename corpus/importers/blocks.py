"""Records in blocks: looked at one by one, or as columns when every field of a block is sound.

A corpus of half a million passages is loaded as columns; a block with anything unusual in it is
taken apart, so that each problem is named by the record it stands in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from corpus.importers.fields import (
    PID_LIMIT,
    TITLE_LIMIT,
    URL_LIMIT,
    Record,
    day_of,
    given_extras,
    is_storable_as_extra,
)
from corpus.importers.rows import Location, PassageBatch, Problem

# A block is full at this many records, or at this many bytes of file.
BLOCK_ROWS = 2000
BLOCK_BYTES = 4 * 1024 * 1024
# Gives the values of a field in the order of the block, None where a record lacks it.
Column: TypeAlias = Callable[[str], list[Any]]
# What turning a column of a damaged file into values raises.
_UNREADABLE = (ValueError, NotImplementedError, OverflowError)


# What a passage or page says of itself besides its text, in every format of records.
ABOUT = ("title", "source_url", "fetched_on")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which fields of a record make a passage.

    Of several names for the id or the text, the first that a record gives counts. ABOUT is read of
    every record; fields without a name here are kept if `keeps_others`.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    keeps_others: bool = True


class Block:
    """Consecutive records of one file: the number of each in the file, and their values.

    `names` gives every field that any of them has, in the order of the file.
    """

    __slots__ = ("_column", "_names", "_values", "file", "lines")

    def __init__(
        self,
        file: str,
        lines: Sequence[int],
        values: Callable[[], list[dict[str, Any]]],
        column: Column,
        names: Callable[[], Sequence[str]],
    ) -> None:
        self.file = file
        self.lines = lines
        self._values = values
        self._column = column
        self._names = names

    @classmethod
    def of(cls, file: str, lines: Sequence[int], values: list[dict[str, Any]]) -> "Block":
        """A block of objects as JSON gives them."""
        return cls(
            file,
            lines,
            lambda: values,
            lambda name: [each.get(name) for each in values],
            lambda: list(dict.fromkeys(chain.from_iterable(values))),
        )

    def renamed(self, names: Mapping[str, str]) -> "Block":
        """The same with these fields under other names; a record without them is as it was.

        Records of which two fields would have one name cannot be read.
        """
        mine: dict[str, list[str]] = {}
        for theirs in self._names():
            mine.setdefault(names.get(theirs, theirs), []).append(theirs)

        def column(name: str) -> list[Any]:
            theirs = mine.get(name, [name])
            if len(theirs) > 1:
                raise ValueError(f"{name} is there twice")
            return self._column(theirs[0]) if name in mine else [None] * len(self.lines)

        def values() -> list[dict[str, Any]]:
            return [_renamed(each, names) for each in self._values()]

        return Block(self.file, self.lines, values, column, lambda: list(mine))

    def records(self) -> Iterator[Record | Problem]:
        """Each record for itself."""
        try:
            values = self._values()
        except _UNREADABLE as error:
            reason = str(error).partition("\n")[0][:200]
            message = f"The records from here on cannot be read ({reason})."
            yield Problem(Location(self.file, self.lines[0]), message)
        else:
            for line, value in zip(self.lines, values, strict=True):
                yield Record(value, Location(self.file, line))

    def passages(self, domain: str, layout: Layout) -> PassageBatch | None:
        """The fields of a passage as columns.

        None unless a Record would take every one of them without a problem and unchanged.
        """
        key, field = self._first_given(layout.ids), self._first_given(layout.texts)
        pids, texts = self._ids(key), self._texts(field)
        titles, urls = self._maybe("title", TITLE_LIMIT), self._maybe("source_url", URL_LIMIT)
        dates = self._days("fetched_on")
        if pids is None or texts is None or titles is None or urls is None or dates is None:
            return None
        taken = {key, field, *ABOUT}
        extras = self._others(taken) if layout.keeps_others else []
        if extras is None:
            return None
        return PassageBatch(
            domain=domain,
            file=self.file,
            lines=self.lines,
            pids=pids,
            texts=texts,
            titles=titles,
            source_urls=urls,
            dates=dates,
            extras=extras,
            text_field=field,
        )

    def _first_given(self, names: Sequence[str]) -> str:
        """The first of these fields that any record gives; a block whose records differ in it
        has one that lacks that field, and is not taken as columns."""
        given = (name for name in names if any(v is not None for v in self._readable(name) or ()))
        return next(given, names[0]) if len(names) > 1 else names[0]

    def _ids(self, name: str) -> list[str] | None:
        """A field in which every value is an id: a text, or a whole number that stands for one."""
        values = self._readable(name)
        if values and int in set(map(type, values)):
            values = [str(each) if type(each) is int else each for each in values]
        return values if values and are_sound(values, PID_LIMIT) and "" not in values else None

    def _texts(self, name: str) -> list[str] | None:
        """A field in which every value is a text that can be stored."""
        values = self._readable(name)
        return values if values and are_sound(values) else None

    def _maybe(self, name: str, limit: int) -> list[str | None] | None:
        """A field of sound texts and nulls; empty where no record gives a value."""
        values = self._readable(name)
        given = [each for each in values or () if each is not None]
        if values is None or (given and not are_sound(given, limit)):
            return None
        return values if given else []

    def _days(self, name: str) -> list[str | None] | None:
        """A field of days and nulls; empty where no record gives one."""
        values = self._readable(name)
        if values is None or all(each is None for each in values):
            return values and []
        days = [None if each is None else day_of(each) for each in values]
        return None if "" in days else days

    def _others(self, taken: set[str]) -> list[dict[str, Any] | None] | None:
        """The other fields of each record: empty without any, None if one cannot be kept."""
        names = [name for name in self._names() if name not in taken]
        columns = {name: self._readable(name) for name in names}
        if any(values is None for values in columns.values()):
            return None
        given = {name: values for name, values in columns.items() if _says_something(values)}
        rows = zip(*given.values(), strict=True) if given else ()
        found = [given_extras(dict(zip(given, values, strict=True))) for values in rows]
        if not all(is_storable_as_extra(name, v) for each in found for name, v in each.items()):
            return None
        return [each or None for each in found]

    def _readable(self, name: str) -> list[Any] | None:
        try:
            return self._column(name)
        except _UNREADABLE:
            return None


def _renamed(record: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    found = {names.get(theirs, theirs): value for theirs, value in record.items()}
    if len(found) < len(record):
        # The other one is not to be lost: it can be given another name, too.
        raise ValueError(f"two fields of a record are read as one of {sorted(set(names.values()))}")
    return found


def _says_something(values: list[Any] | None) -> bool:
    return any(each is not None and each != {} for each in values or ())


def are_sound(values: list[Any], limit: int = 0) -> bool:
    """Whether all are texts without a fault (`text_fault`, which says what the fault is)."""
    if set(map(type, values)) != {str} or (limit and max(map(len, values)) > limit):
        return False
    joined = "".join(values)
    return "\x00" not in joined and (joined.isascii() or _is_unicode(joined))


def _is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair; many times as fast as looking for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
