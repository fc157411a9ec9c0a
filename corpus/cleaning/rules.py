"""Cleaning by rules alone: along a group's passages, a chunk a transaction.

A killed worker's group goes on behind the last passage that was committed; memory holds a chunk.
"""

import json
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from django.db import connection, transaction

from corpus.chunking.rules import clean
from corpus.cleaning.digest import Tally
from corpus.models import CleaningRun, Crosswalk, Passage
from corpus.versions.crosswalk import gold_of
from kit.database.bulk import bulk_loading, commit_without_waiting, copy_rows
from kit.runs.models import RunGroup
from kit.runs.sharing import Share

CHUNK: Final = 1000
_COLUMNS: Final = ("version_id", "domain_id", "pid", "title", "source_url", "text", "extra")
READ: Final = ("pk", "domain_id", "pid", "title", "source_url", "text", "extra")
_OF: Final = '"of"'
_TRUE: Final = {"postgresql": "TRUE", "sqlite": "1"}


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
            write(share.run, rows, made, tally)
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


def write(run: CleaningRun, rows: Sequence[Row], made: Sequence[Made], tally: Tally) -> None:
    """Write what was made of these rows, linked and tallied; in the caller's transaction."""
    names = {row.pk: row.pid for row in rows}
    if all(each.pid == names[each.old] for each in made):
        _copy(run, made, tally)
        _link_same(run, rows)
    else:
        write_each(run, made, tally)


def write_each(run: CleaningRun, made: Sequence[Made], tally: Tally) -> None:
    """The same, each new passage linked to its old one by its own id."""
    _copy(run, made, tally)
    columns = ("version_id", "old_id", "new_id", "tokens", "of", "carries")
    links: list[tuple[Any, ...]] = []
    for domain in {each.domain for each in made}:
        own = [each for each in made if each.domain == domain]
        new = Passage.objects.filter(version_id=run.version_id, domain_id=domain)
        keys = dict(new.filter(pid__in=[each.pid for each in own]).values_list("pid", "pk"))
        links += [(run.version_id, each.old, keys[each.pid], 0, 0, True) for each in own]
    copy_rows(Crosswalk, columns, links)


def _copy(run: CleaningRun, made: Sequence[Made], tally: Tally) -> None:
    commit_without_waiting()
    copy_rows(Passage, _COLUMNS, [(run.version_id, *each[1:]) for each in made])
    tally.add((each.domain, each.pid, each.text) for each in made)


def _link_same(run: CleaningRun, rows: Sequence[Row]) -> None:
    """At most one new passage under each old id: linked where they lie, no key is read back."""
    table, walk = Passage._meta.db_table, Crosswalk._meta.db_table
    layers = run.source.layers
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {walk} (version_id, old_id, new_id, tokens, {_OF}, carries) "  # noqa: S608
            f"SELECT %s, o.id, n.id, 0, 0, {_TRUE[connection.vendor]} FROM {table} o "
            f"JOIN {table} n ON n.version_id = %s AND n.domain_id = o.domain_id AND n.pid = o.pid "
            f"WHERE o.id BETWEEN %s AND %s AND o.version_id IN ({', '.join(['%s'] * len(layers))})",
            [run.version_id, run.version_id, rows[0].pk, rows[-1].pk, *layers],
        )
