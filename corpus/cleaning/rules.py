"""Cleaning by rules alone: along a group's passages, a chunk a transaction.

A killed worker's group goes on behind the last passage that was committed; memory holds a chunk.
"""

import json
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from django.db import transaction

from corpus.chunking.rules import clean
from corpus.cleaning.digest import Tally
from corpus.models import CleaningRun, Crosswalk, Passage
from corpus.versions.crosswalk import gold_of
from kit.database.bulk import bulk_loading, commit_without_waiting, copy_rows, reserve_keys
from kit.runs.models import RunGroup
from kit.runs.sharing import Share

CHUNK: Final = 1000
_COLUMNS: Final = ("id", "version_id", "domain_id", "pid", "title", "source_url", "text", "extra")
READ: Final = ("pk", "domain_id", "pid", "title", "source_url", "text", "extra")
_LINK: Final = ("version_id", "old_id", "new_id", "tokens", "of", "carries")


class Row(NamedTuple):
    """A passage of the source, in the order of READ."""

    pk: int
    domain: int
    pid: str
    title: str
    url: str
    text: str | None
    extra: Any


class Made(NamedTuple):
    """A new passage and the old one's key."""

    old: int
    domain: int
    pid: str
    title: str
    url: str
    text: str | None
    extra: str | None


def clean_by_rules(share: Share[CleaningRun], *, ends_at: float) -> None:
    """Clean one free group of the run after the other, until none is left or the time is up.

    Raises LostLease, and Stopping if this process is to end.
    """
    gold = set(gold_of(share.run.source))
    names = domain_names(share.run)
    with bulk_loading():
        while time.monotonic() < ends_at and (group := share.claim()):
            _clean_group(share, group, gold, names, ends_at)


def _clean_group(
    share: Share[CleaningRun],
    group: RunGroup,
    gold: set[int],
    names: dict[int, str],
    ends_at: float,
) -> None:
    tally = Tally(group.figures, names)
    while rows := read_rows(share.run, after=group.last_id, up_to=group.up_to, most=CHUNK):
        made = []
        for row in rows:
            if new := cleaned(row, gold, tally):
                made.append(new)
            share.keep()
        with transaction.atomic():
            # First, and for as long as the writing takes: nobody takes the group over meanwhile.
            share.hold_groups([group])
            write(share.run, made, tally)
            group.hold(last_id=rows[-1].pk, figures=tally.figures)
            share.count(len(rows))
        share.beat()
        if time.monotonic() >= ends_at:
            return
    share.end(group)


def domain_names(run: CleaningRun) -> dict[int, str]:
    """The benchmark's domains by key, for a tally."""
    return dict(run.benchmark.domains.values_list("pk", "name"))


def read_rows(run: CleaningRun, *, after: int, up_to: int, most: int) -> list[Row]:
    """The next passages of the source with keys in (after, up_to]."""
    passages = Passage.objects.filter(version_id__in=run.source.layers, pk__lte=up_to)
    part = passages.filter(pk__gt=after).order_by("pk").values_list(*READ)[:most]
    return [Row(*each) for each in part]


def cleaned(row: Row, gold: set[int], tally: Tally) -> Made | None:
    """The passage under its id as the rules leave it; None where nothing is left of it.

    Gold of which nothing would be left stays as it is.
    """
    text = row.text
    if text is None:
        tally.count("without text")
    elif not (text := clean(text)):
        if row.pk not in gold:
            tally.count("dropped")
            return None
        tally.count("gold kept whole")
        text = row.text
    return carried(row, text)


def carried(row: Row, text: str | None) -> Made:
    """A passage under the id of the old one, with what is kept beside its text."""
    kept = None if row.extra is None else json.dumps(row.extra)
    return Made(row.pk, row.domain, row.pid, row.title, row.url, text, kept)


def write(run: CleaningRun, made: Sequence[Made], tally: Tally) -> None:
    """Write new passages, each linked to its old one, and tally them; in the caller's transaction.

    Their keys are reserved, not read back: a join with a version that grows meanwhile is planned
    by statistics that do not know of it.
    """
    commit_without_waiting()
    keys = reserve_keys(Passage, len(made))
    rows = [(key, run.version_id, *each[1:]) for key, each in zip(keys, made, strict=True)]
    copy_rows(Passage, _COLUMNS, rows)
    links = [
        (run.version_id, each.old, key, 0, 0, True) for key, each in zip(keys, made, strict=True)
    ]
    copy_rows(Crosswalk, _LINK, links)
    tally.add((each.domain, each.pid, each.text) for each in made)
