"""Cleaning by rules alone: along a group's passages, a chunk a transaction.

A killed worker's group goes on behind the last passage that was committed; memory holds a chunk.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from django.db import transaction
from django.db.models import QuerySet

from corpus.chunking.rules import clean
from corpus.models import CleaningRun, Crosswalk, Passage
from corpus.versions.effective import gold_of
from kit.database.bulk import bulk_loading, commit_without_waiting, copy_rows, reserve_keys
from kit.runs.models import RunGroup
from kit.runs.sharing import Share

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


CHUNK: Final = 1000
READ: Final = ("pk", "domain_id", "pid", "title", "source_url", "fetched_on", "text", "extra")
_COLUMNS: Final = ("id", "version_id", *READ[1:])
_LINK: Final = ("version_id", "old_id", "new_id", "tokens", "of", "carries")


class Row(NamedTuple):
    """A passage of the source in the order of READ.

    A new one has the key of the old one and contains it whole, or else `links`: what it holds of
    older ones, as (key, tokens, of, carries).
    """

    pk: int
    domain: int
    pid: str
    title: str
    url: str
    fetched: date | None
    text: str | None
    extra: Any
    links: tuple[tuple[int, int, int, bool], ...] | None = None


class HasKey(Protocol):
    """What a group is made of."""

    @property
    def pk(self) -> int: ...


ItemT = TypeVar("ItemT", bound=HasKey)


class Work(Protocol[ItemT]):
    """How the items of a run are read, and what becomes of one."""

    def read(self, *, after: int, up_to: int, most: int) -> Sequence[ItemT]:
        """The next items with keys in (after, up_to]."""

    def cut_by_itself(self, item: ItemT, tally: Tally) -> list[Row]:
        """The new passages of an item, made without asking anybody."""


class ByRules:
    """Passages as the rules leave them."""

    def __init__(self, run: CleaningRun) -> None:
        self._passages = Passage.objects.filter(version_id__in=run.source.layers)
        self._gold = set(gold_of(run.source))

    def read(self, *, after: int, up_to: int, most: int) -> list[Row]:
        """The next passages of the source."""
        return read_rows(self._passages, after=after, up_to=up_to, most=most)

    def cut_by_itself(self, item: Row, tally: Tally) -> list[Row]:
        """The passage, unless nothing is left of it."""
        new = cleaned(item, self._gold, tally)
        return [new] if new else []


def clean_by_rules(share: Share[CleaningRun], *, work: Work[Any] | None = None) -> None:
    """Clean one free group of the run after the other, until none is left or the time is up.

    Raises LostLease, and Stopping if this process is to end.
    """
    work = work or ByRules(share.run)
    names = domain_names(share.run)
    with bulk_loading():
        while not share.is_time_up and (group := share.claim()):
            _clean_group(share, group, work, names)


def _clean_group(
    share: Share[CleaningRun],
    group: RunGroup,
    work: Work[Any],
    names: dict[int, str],
) -> None:
    tally = Tally(group.figures, names)
    while items := work.read(after=group.last_id, up_to=group.up_to, most=CHUNK):
        made: list[Row] = []
        for item in items:
            made += work.cut_by_itself(item, tally)
            share.keep()
        with transaction.atomic():
            # First, and for as long as the writing takes: nobody takes the group over meanwhile.
            share.hold_groups([group])
            write(share.run, made, tally)
            group.hold(last_id=items[-1].pk, figures=tally.figures)
            share.count(len(items))
        share.beat()
        if share.is_time_up:
            return
    share.end(group)


def domain_names(run: CleaningRun) -> dict[int, str]:
    """The benchmark's domains by key, for a tally."""
    return dict(run.benchmark.domains.values_list("pk", "name"))


def read_rows(passages: QuerySet[Passage], *, after: int, up_to: int, most: int) -> list[Row]:
    """The next of these passages with keys in (after, up_to]."""
    part = passages.filter(pk__gt=after, pk__lte=up_to).order_by("pk").values_list(*READ)[:most]
    return [Row(*each) for each in part]


def cleaned(row: Row, gold: set[int], tally: Tally) -> Row | None:
    """The passage under its id as the rules leave it; None where nothing is left of it.

    Gold of which nothing would be left stays as it is.
    """
    text = row.text
    if text is None:
        tally.count("without text")
    elif not (text := clean(text, is_gold=row.pk in gold)):
        if row.pk not in gold:
            tally.count("dropped")
            return None
        tally.count("gold kept whole")
        text = row.text
    return row._replace(text=text)


def write(run: CleaningRun, made: Sequence[Row], tally: Tally) -> None:
    """Write new passages, each linked to its old ones, and tally them; in the caller's transaction.

    Their keys are reserved, not read back: a join with a version that grows meanwhile is planned
    by statistics that do not know of it.
    """
    commit_without_waiting()
    keys = reserve_keys(Passage, len(made))
    rows = [
        (
            *(key, run.version_id, each.domain, each.pid, each.title, each.url),
            each.fetched and each.fetched.isoformat(),
            each.text,
            None if each.extra is None else json.dumps(each.extra),
        )
        for key, each in zip(keys, made, strict=True)
    ]
    copy_rows(Passage, _COLUMNS, rows)
    links = [
        (run.version_id, old, key, *held)
        for key, each in zip(keys, made, strict=True)
        for old, *held in (((each.pk, 0, 0, True),) if each.links is None else each.links)
    ]
    copy_rows(Crosswalk, _LINK, links)
    tally.add((each.domain, each.pid, each.text) for each in made)
