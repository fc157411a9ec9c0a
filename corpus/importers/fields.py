"""Typed access to the fields of a record; what is wrong is noted with its location, not raised."""

import calendar
import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from corpus.importers.rows import Location, Oddity, Problem

# As long as the database columns take (a test holds them together).
DOMAIN_LIMIT = 80
QID_LIMIT = 200
PID_LIMIT = 500
# Titles are as long as they like; only a whole line has a bound.
TITLE_LIMIT = 64 * 1024 * 1024
URL_LIMIT = 2000
NOTHING = "N/A"
REPEATED = "gold ids repeated in a query"
NOT_KEPT = "unknown fields that cannot be stored, left out"
_DEPTH = 32
_INTEGERS = range(-(2**63), 2**63)
_DAY = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-([0-9]{2})")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Record:
    """One record of a file. Fields that are wrong come back empty and stand in `problems`."""

    __slots__ = ("data", "location", "prefix", "problems")

    def __init__(
        self,
        data: dict[str, Any],
        location: Location,
        problems: list[Problem] | None = None,
        prefix: str = "",
    ) -> None:
        self.data = data
        self.location = location
        self.problems = [] if problems is None else problems
        self.prefix = prefix

    def wrong(self, field: str, message: str) -> None:
        """Note that this field cannot be taken."""
        self.problems.append(Problem(self.location.at(self.prefix + field), message))

    def given(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.data.get(field) is not None

    def first_given(self, names: Sequence[str]) -> str:
        """The first of these fields that is given, else the first of them."""
        return next((name for name in names if self.given(name)), names[0])

    def text(self, field: str, *, limit: int = 0) -> str:
        """A required text; may be empty."""
        if not self.given(field):
            self.wrong(field, "This field is missing.")
            return ""
        return self._checked(field, self.data[field], limit)

    def maybe_text(self, field: str, *, limit: int = 0) -> str | None:
        """A text, or None where the field is not given."""
        return self.text(field, limit=limit) if self.given(field) else None

    def ident(self, field: str, *, limit: int = PID_LIMIT) -> str:
        """A required id: text or whole number, kept exactly as it stands (docs/protocol.md 1.1)."""
        value = self.data.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        text = self.text(field, limit=limit)
        if text == "" and value == "":
            self.wrong(field, "An id cannot be empty.")
        return text

    def texts(self, field: str, *, limit: int = 0) -> tuple[str, ...]:
        """A required list of texts; whole numbers count as texts, as ids often are numbers."""
        if not self.given(field):
            self.wrong(field, "This field is missing.")
            return ()
        return self.maybe_texts(field, limit=limit) or ()

    def maybe_texts(self, field: str, *, limit: int = 0) -> tuple[str, ...] | None:
        """A list of texts, or None where the field is not given."""
        if not self.given(field):
            return None
        values = self._list(field)
        return tuple(self._checked(f"{field}[{n}]", each, limit) for n, each in enumerate(values))

    def maybe_day(self, field: str) -> str | None:
        """A day as 2024-05-31, or None where the field is not given."""
        if not self.given(field):
            return None
        if not (day := day_of(self.data[field])):
            self.wrong(field, "A date such as 2024-05-31 is needed here.")
        return day or None

    def ids(self, field: str, *, limit: int = PID_LIMIT) -> tuple[str, ...]:
        """A required list of ids, none of them empty."""
        found = self.texts(field, limit=limit)
        if self.given(field) and "" in found and "" in self.data[field]:
            self.wrong(field, "An id cannot be empty.")
        return found

    def whole(self, field: str) -> int:
        """A required whole number."""
        value = self.data.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.wrong(field, "A whole number is needed here." if self.given(field) else "Missing.")
        return 0

    def flag(self, field: str) -> bool:
        """A required true or false."""
        value = self.data.get(field)
        if isinstance(value, bool):
            return value
        self.wrong(field, "True or false is needed here.")
        return False

    def items(self, field: str) -> Iterator["Record"]:
        """The objects of a required list, each noting its problems here."""
        if not self.given(field):
            self.wrong(field, "This field is missing.")
            return
        for n, each in enumerate(self._list(field)):
            if isinstance(each, dict):
                prefix = f"{self.prefix}{field}[{n}]."
                yield Record(each, self.location, self.problems, prefix)
            else:
                self.wrong(f"{field}[{n}]", "An object is needed here.")

    def _list(self, field: str) -> list[Any]:
        value = self.data[field]
        if isinstance(value, list):
            return value
        self.wrong(field, "A list is needed here.")
        return []

    def _checked(self, field: str, value: Any, limit: int) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and limit:
            value = str(value)
        if not isinstance(value, str):
            self.wrong(field, "Text is needed here.")
        elif fault := text_fault(value, limit):
            self.wrong(field, fault)
        else:
            return value
        return ""


def day_of(value: object) -> str:
    """The day that a text such as 2024-05-31, or a date of parquet, means; "" for all else."""
    # No module of dates here, for they know the clock; a date gives itself as such a text.
    text = str(value) if isinstance(value, str) or hasattr(value, "isoformat") else ""
    found = _DAY.fullmatch(text)
    if found is None:
        return ""
    year, month, day = map(int, found.groups())
    return text if year and 1 <= day <= calendar.monthrange(year, month)[1] else ""


def text_fault(value: str, limit: int = 0) -> str:
    """Why this text cannot be stored byte for byte, or ""."""
    if "\x00" in value:
        return "The text holds a NUL character, which cannot be stored."
    if not value.isascii() and _LONE_SURROGATE.search(value):
        return "The text holds half of a surrogate pair, which is not valid Unicode."
    if limit and len(value) > limit:
        return f"Too long: {len(value):,} characters, {limit} at most."
    return ""


def faults_at(location: Location, *texts: tuple[str, str, int]) -> list[Problem]:
    """What is wrong with these texts, each given as (field, text, limit)."""
    faults = ((name, text_fault(text, limit)) for name, text, limit in texts)
    return [Problem(location.at(name), fault) for name, fault in faults if fault]


def distinct_ids(record: Record, field: str, owner: str) -> tuple[tuple[str, ...], list[Oddity]]:
    """The ids of a list as a set in their order, and an oddity for each repetition."""
    ids = record.ids(field)
    seen: dict[str, None] = {}
    repeats: list[Oddity] = []
    for each in ids:
        if each in seen:
            repeats.append(Oddity(REPEATED, f"{owner}: {each}"))
        seen[each] = None
    return tuple(seen), repeats


def excluded_ids(record: Record, owner: str) -> tuple[tuple[str, ...] | None, list[Oddity]]:
    """Ids to leave out of a ranking; any entry "N/A" means none (docs/protocol.md 1.5 rule 2)."""
    ids = record.maybe_texts("excluded_ids", limit=PID_LIMIT)
    if ids and NOTHING in ids:
        return (), [Oddity('exclusions given as "N/A", read as none', owner)]
    return (tuple(dict.fromkeys(ids)) if ids is not None else None), []


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
    """Whether a field can be kept with its record."""
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
