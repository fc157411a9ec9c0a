"""Cleaning by rules alone: along the passages of a version, a chunk a transaction.

A killed run goes on behind the last passage that was committed; its memory holds a chunk.
"""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F

from corpus.chunking.rules import clean
from corpus.chunking.semantic import dchunk
from corpus.models import CleaningPreset, CleaningRun, Crosswalk, Passage
from corpus.services.cleaning_publish import publish
from corpus.services.crosswalk import gold_of
from kit.bulk import bulk_loading, commit_without_waiting, copy_rows
from llm.practice.embedding import embed

CHUNK: Final = 1000
_COLUMNS: Final = ("version_id", "domain_id", "pid", "title", "source_url", "text", "extra")
_READ: Final = ("pk", "domain_id", "pid", "title", "source_url", "text", "extra")
EMBEDDER: Final = "hashed words, 256 dimensions"


def clean_by_rules(run: CleaningRun, *, seconds: float | None = None) -> None:
    """Clean what is left of a claimed run's passages, then publish its version.

    After `seconds` it is released. Raises LostLease, and Stopping if this process is to end.
    """
    assert run.version is not None
    ends_at = None if seconds is None else time.monotonic() + seconds
    passages = Passage.objects.filter(version_id__in=run.source.layers)
    if not run.is_planned:
        run.beat(total=passages.count(), is_planned=True)
    gold = set(gold_of(run.source))
    figures: dict[str, Any] = run.figures or {}
    with bulk_loading():
        while rows := list(
            passages.filter(pk__gt=run.last_id).order_by("pk").values_list(*_READ)[:CHUNK]
        ):
            made = [each for row in rows for each in _cleaned(run, row, gold, figures)]
            with transaction.atomic():
                commit_without_waiting()
                _write(run, rows, made)
                run.beat(last_id=rows[-1][0], done=F("done") + len(rows), figures=figures)
            if ends_at is not None and time.monotonic() >= ends_at:
                run.release()
                return
    publish(run, figures)


_Row = tuple[int, int, str, str, str, str | None, Any]


def _cleaned(
    run: CleaningRun, row: _Row, gold: set[int], figures: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """The new rows of a passage, in the order of _COLUMNS, with its old key in front."""
    pk, domain, pid, title, url, text, extra = row
    version = run.version_id
    kept = None if extra is None else json.dumps(extra)
    if text is None:
        _count(figures, "without text")
        return [(pk, version, domain, pid, title, url, None, kept)]
    cleaned = clean(text)
    if not cleaned:
        if pk not in gold:
            _count(figures, "dropped")
            return []
        _count(figures, "gold kept whole")
        cleaned = text
    if run.preset != CleaningPreset.DCHUNK:
        return [(pk, version, domain, pid, title, url, cleaned, kept)]
    return [
        (pk, version, domain, name, title, url, piece, kept)
        for name, piece in _chunks(pid, cleaned, run.config)
    ]


def _chunks(pid: str, text: str, config: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """A long document in chunks that keep its id in front of theirs; a short one as it is."""
    if len(text.split()) <= config["long_from"]:
        return [(pid, text)]
    chunks = dchunk(
        text,
        lambda texts: [embed(each) for each in texts],
        threshold=config["threshold"],
        most=int(config["most"]),
        overlap=config["overlap"],
    )
    return [(f"{pid}#c{number}", each.text) for number, each in enumerate(chunks, start=1)]


def _write(run: CleaningRun, rows: Sequence[_Row], made: Sequence[tuple[Any, ...]]) -> None:
    copy_rows(Passage, _COLUMNS, [each[1:] for each in made])
    is_same = all(
        old == new for old, new in zip([r[2] for r in rows], [m[3] for m in made], strict=False)
    )
    if len(made) == len(rows) and is_same:
        _link_same(run, rows)
    else:
        _link_each(run, made)


def _link_same(run: CleaningRun, rows: Sequence[_Row]) -> None:
    """One new passage under each old id: linked where they lie, without reading keys back."""
    table, walk = Passage._meta.db_table, Crosswalk._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {walk} (version_id, old_id, new_id, tokens, {_OF}, carries) "  # noqa: S608
            f"SELECT %s, o.id, n.id, 0, 0, {_TRUE[connection.vendor]} FROM {table} o "
            f"JOIN {table} n ON n.version_id = %s AND n.domain_id = o.domain_id AND n.pid = o.pid "
            f"WHERE o.id BETWEEN %s AND %s AND o.version_id IN ({_marks(run.source.layers)})",
            [run.version_id, run.version_id, rows[0][0], rows[-1][0], *run.source.layers],
        )


_OF: Final = '"of"'
_TRUE: Final = {"postgresql": "TRUE", "sqlite": "1"}


def _marks(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


def _link_each(run: CleaningRun, made: Sequence[tuple[Any, ...]]) -> None:
    names = {(each[2], each[3]) for each in made}
    found = Passage.objects.filter(version_id=run.version_id, pid__in={pid for _, pid in names})
    keys = {(domain, pid): pk for pk, domain, pid in found.values_list("pk", "domain_id", "pid")}
    columns = ("version_id", "old_id", "new_id", "tokens", "of", "carries")
    copy_rows(
        Crosswalk,
        columns,
        [(run.version_id, each[0], keys[each[2], each[3]], 0, 0, True) for each in made],
    )


def _count(figures: dict[str, Any], name: str) -> None:
    figures[name] = figures.get(name, 0) + 1
