"""The rows of a benchmark as lines that are the same wherever it lies, and their digest.

A row has no key: it is the n-th of its table, in the order of the keys, and whatever leads to it
holds that number. People are pseudonyms. So the lines depend neither on keys nor on the database,
and a copy that was made of them gives the same ones.
"""

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.crypto import salted_hmac

from annotate.voting.models import Vote, altered_cases
from corpus.models import Benchmark, PageFetch
from evaluation.transfer import references
from evaluation.transfer.graph import Part, is_person, models_of, parts_of
from evaluation.transfer.references import PERSON
from kit.account.names import ERASED
from kit.account.people import is_pseudonym
from kit.backup import tables
from kit.errors import Refused
from kit.runs.models import RunStatus, TrackedRun

# A run under way would go on in two places.
BUSY: Final = (RunStatus.QUEUED, RunStatus.RUNNING)
# A vote that is not as it was cast keeps no link, and stays known as altered where it comes.
ALTERED: Final = "altered"
_PIECE_BYTES: Final = 4 << 20
# Kept answers are found by the hash of their request. Those that came with a file must not be:
# whoever writes a file could answer for a model. So their hashes are written in other letters.
_HEX, _FOREIGN = "0123456789abcdef", "ghijklmnopqrstuv"
_TO_FOREIGN: Final = str.maketrans(_HEX, _FOREIGN)
_FROM_FOREIGN: Final = str.maketrans(_FOREIGN, _HEX)


def own_hash(text: str, benchmark: int) -> str:
    """The hash of a request as it was made, of one that the ledger here holds."""
    return _masked(text.translate(_FROM_FOREIGN), benchmark) if _is_of(text, _FOREIGN) else text


def foreign_hash(text: str, benchmark: int) -> str:
    """How the ledger holds it for a benchmark that was brought: no request has it."""
    return _masked(text, benchmark).translate(_TO_FOREIGN) if _is_of(text, _HEX) else text


def _is_of(text: str, letters: str) -> bool:
    return len(text) == 64 and not set(text) - set(letters)


def _masked(text: str, benchmark: int) -> str:
    """Another number of 64 digits for each benchmark, and the same again for that one."""
    mask = hashlib.sha256(f"benchmark {benchmark}".encode()).digest()
    return f"{int(text, 16) ^ int.from_bytes(mask):064x}"


def pseudonyms(benchmark: Benchmark) -> Callable[[int], str]:
    """By the key of a person the pseudonym in files of this benchmark.

    The same in each of them, so that a later file can be held against an earlier one, and another
    in those of other benchmarks. Who is a pseudonym already keeps it.
    """
    erased = User.objects.filter(username__startswith=ERASED).values_list("pk", "username")
    known = {pk: name for pk, name in erased if is_pseudonym(name)}

    def name(pk: int) -> str:
        if pk not in known:
            about = f"{benchmark.pk}:{pk}"
            drawn = salted_hmac("evaluation.transfer", about, secret=settings.SEED_KEY)
            known[pk] = f"{ERASED}{drawn.hexdigest()[:20]}"
        return known[pk]

    return name


class Lines:
    """The lines of a benchmark, read by one connection, as they are then."""

    def __init__(self, benchmark: Benchmark, there: BaseDatabaseWrapper) -> None:
        self._benchmark, self._there = benchmark, there
        self.parts = parts_of(benchmark)
        self._keys = {part.label: _keys(there, part) for part in self.parts}
        self._person = pseudonyms(benchmark)
        votes = Vote.objects.filter(case__query__domain__benchmark=benchmark)
        self._altered = set(altered_cases(votes.order_by("case", "pk").iterator(2_000)))

    @property
    def counts(self) -> dict[str, int]:
        """By model how many rows there are."""
        return {label: len(keys) for label, keys in self._keys.items()}

    def pieces(self, part: Part, digest: tables.Digest) -> Iterator[list[bytes]]:
        """The lines of a table, some megabytes at a time, added to the digest on their way.

        Raises Refused for a row that leads to what belongs to no part of the benchmark.
        """
        lines: list[bytes] = []
        length = 0
        for row, _ in tables.rows_of(self._there, part.numbered, part.rows):
            values = self._values(part, row)
            line = tables.line_of(values)
            digest.add(values, line)
            lines.append(line)
            length += len(line)
            if length >= _PIECE_BYTES:
                yield lines
                lines, length = [], 0
        if lines:
            yield lines

    def _values(self, part: Part, row: Any) -> list[Any]:
        found = dict(zip(part.numbered.columns, row, strict=True))
        if issubclass(part.kind, TrackedRun) and found["status"] in BUSY:
            name = part.kind._meta.verbose_name
            raise Refused(f"A {name} waits or runs. Pause or cancel it, or let it end.")
        values = [found[column] for column in part.table.columns]
        for at, target in part.targets.items():
            values[at] = self._led(part, at, target, values[at])
        for at, instead in part.blanks.items():
            values[at] = instead
        for at, field in enumerate(part.fields):
            rule = references.RULES.get((part.label, field.name))
            if rule is not None and values[at] is not None:
                values[at] = self._changed(rule, field, values[at])
        if own := _OWN.get(part.label):
            own(self, part, found, values)
        return values

    def _led(self, part: Part, at: int, target: str, key: int | None) -> int | str | None:
        if key is None:
            return None
        if is_person(target):
            return self._person(key)
        number = self._number(target, key)
        if number or part.fields[at].null:
            return number or None
        field = part.fields[at].name
        raise Refused(f"A row of {part.label} has a {field} ({key}) of another benchmark.")

    def _number(self, target: str, key: int) -> int:
        keys = self._keys.get(target, ())
        at = bisect_left(keys, key)
        return at + 1 if at < len(keys) and keys[at] == key else 0

    def _changed(self, rule: references.Rule, field: Any, value: Any) -> Any:
        is_json = field.get_internal_type() == "JSONField"
        change = references.changed_json if is_json else references.change
        return change(rule, value, key=self._soft, hashed=self._hash)

    def _soft(self, target: str, key: int) -> int | str:
        return self._person(key) if target == PERSON else self._number(target, key)

    def _hash(self, text: str) -> str:
        return own_hash(text, self._benchmark.pk)

    # What single tables need besides.

    def vote(self, part: Part, found: Mapping[str, Any], values: list[Any]) -> None:
        """The links of votes are made anew, under the key of the server they come to."""
        at = list(part.table.columns).index("link")
        values[at] = ALTERED if found["case_id"] in self._altered else ""

    def case(self, part: Part, found: Mapping[str, Any], values: list[Any]) -> None:
        """An origin that is gone is named by the case: no two of an installation are equal."""
        at = list(part.table.columns).index("origin")
        if not references.leads_somewhere(values[at]):
            values[at] = f"{references.GONE}:{self._number(part.label, found[part.key])}"

    def event(self, part: Part, found: Mapping[str, Any], values: list[Any]) -> None:
        """Its scope begins with the slug; what it is about, and what it tells."""
        columns = list(part.table.columns)
        values[columns.index("scope")] = found["scope"].removeprefix(self._benchmark.slug)
        kind, key = names_of_models().get(found["target_type"], ""), found["target_id"]
        known = kind in self._keys and key.isascii() and key.isdigit()
        values[columns.index("target_id")] = str(self._number(kind, int(key)) if known else 0)
        rule = references.of_verb(found["verb"])
        values[columns.index("data")] = references.changed_json(
            rule, found["data"], key=self._soft, hashed=self._hash
        )


_OWN: Final = {
    "annotate.EscalationCase": Lines.case,
    "annotate.Vote": Lines.vote,
    "kit.Event": Lines.event,
}


@cache
def names_of_models() -> dict[str, str]:
    """`corpus.Query` by `corpus.query`, as events name it."""
    return {label.lower(): label for label in models_of()}


def _keys(there: BaseDatabaseWrapper, part: Part) -> "array[int]":
    """The keys of the rows, ascending: eight bytes a row."""
    quote = there.ops.quote_name
    inner, values = part.rows.order_by().values(part.key).query.sql_with_params()
    keys = array("q")
    with there.chunked_cursor() as cursor:
        select = (
            f"SELECT {quote(part.key)} FROM {quote(part.table.name)}"  # noqa: S608  (names of models)
            f" WHERE {quote(part.key)} IN ({inner}) ORDER BY {quote(part.key)}"
        )
        cursor.execute(select, values or None)
        while found := cursor.fetchmany(10_000):
            keys.extend(key for (key,) in found)
    return keys


def digest_of(listed: list[dict[str, Any]]) -> str:
    """The digest of a benchmark: of its tables' names, counts and checksums."""
    told = [[each["name"], each["rows"], each["sha256"]] for each in listed]
    return hashlib.sha256(json.dumps(told, separators=(",", ":")).encode()).hexdigest()


def listed(lines: Lines, write: Callable[[str, int, list[bytes]], object]) -> list[dict[str, Any]]:
    """Every table with its rows and its checksum; `write` takes each piece of it."""
    found = []
    for part in lines.parts:
        digest, rows = tables.Digest(part.table), 0
        for piece in lines.pieces(part, digest):
            write(part.label, rows + 1, piece)
            rows += len(piece)
        found.append({"name": part.label, "rows": rows, "sha256": digest.hexdigest()})
    return found


def files_of(benchmark: Benchmark) -> Iterator[tuple[str, Path]]:
    """What rows name on disk: the pages as they came, and what releases consist of."""
    given = PageFetch.objects.filter(query__domain__benchmark=benchmark).exclude(given=None)
    pages = {
        *benchmark.pages.values_list("sha256", flat=True),
        *given.exclude(given__sha256=None).values_list("given__sha256", flat=True),
    }
    for digest in sorted(pages):
        yield f"pages/{digest}.gz", Path(settings.PAGES) / digest[:2] / f"{digest}.gz"
    for release in benchmark.releases.order_by("pk"):
        for name in release.files:
            yield f"releases/{release.version}/{name}", Path(release.folder) / name
