"""The text index of passages: full-text tables of SQLite (FTS5) and PostgreSQL (tsvector).

The index is derived data: passages never change, so it is only ever added to, in the background,
a few hundred passages a transaction. Words match whole or, from three letters on, by their
beginning; case does not matter. What is not indexed yet is not found.
"""

import json
import re
import string
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection

TABLE = "corpus_passage_text"
# Characters of a passage that are indexed; PostgreSQL's vectors hold no more than a megabyte.
_MAX_CHARACTERS = 100_000
_MAX_WORDS = 8
_SHORTEST_PREFIX = 3
# What both databases take for a word, once PostgreSQL's text is rid of its punctuation.
_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = string.punctuation
# As they stand in a statement with parameters.
_SIGNS = [{"'": "''", "%": "%%"}.get(sign, sign) for sign in _PUNCTUATION]

_BODY = f"substr(coalesce(title, '') || ' ' || coalesce(text, ''), 1, {_MAX_CHARACTERS})"
_BLANKED = "replace(" * len(_PUNCTUATION) + _BODY + "".join(f", '{sign}', ' ')" for sign in _SIGNS)
_ADD = {
    "sqlite": (
        f"INSERT INTO {TABLE} (rowid, scope, body) "
        f"SELECT id, 'v' || version_id || ' d' || domain_id, {_BODY} "
    ),
    # Without its punctuation, because the parser would keep addresses and numbers like 3.14 in
    # one piece; and without the places of words, which nothing asks for. A `replace` for each sign
    # takes a quarter of the time of one `translate`, which compares every letter with all of them.
    "postgresql": (
        f"INSERT INTO {TABLE} (rowid, version_id, domain_id, body) SELECT id, version_id, "
        f"domain_id, strip(to_tsvector('simple', {_BLANKED})) "
    ),
}
_SOURCE = "FROM corpus_passage WHERE text IS NOT NULL AND "
_RANGE = "version_id = %s AND id > %s AND id <= %s"
_THESE = {"sqlite": "id IN (SELECT value FROM json_each(%s))", "postgresql": "id = ANY(%s)"}


def add(version_id: int, after: int, upto: int) -> int:
    """Index the version's passages with after < id <= upto; in the caller's transaction.

    Returns how many had a text.
    """
    return _add(_RANGE, version_id, after, upto)


def add_these(pks: Collection[int]) -> int:
    """Index passages that are not indexed yet; in the caller's transaction.

    Returns how many had a text.
    """
    listed = list(pks)
    return _add(_THESE[connection.vendor], listed if _is_postgresql() else json.dumps(listed))


def _add(condition: str, *parameters: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_ADD[connection.vendor] + _SOURCE + condition, list(parameters))
        return int(cursor.rowcount)


def remove(version_id: int, upto: int) -> None:
    """Forget the version's passages with id <= upto, all of which are indexed and still there."""
    if _is_postgresql():
        statement, given = f"DELETE FROM {TABLE} WHERE version_id = %s", [version_id]
    else:  # which keeps no texts, so that it has to be told them to forget them
        statement = (
            f"INSERT INTO {TABLE} ({TABLE}, rowid, scope, body) "
            f"SELECT 'delete', id, 'v' || version_id || ' d' || domain_id, {_BODY} {_SOURCE}"
            "version_id = %s AND id <= %s"
        )
        given = [version_id, upto]
    with connection.cursor() as cursor:
        cursor.execute(statement, given)


@contextmanager
def filling() -> Iterator[None]:
    """While all of an index is added, in the caller's transaction: nobody can search meanwhile.

    PostgreSQL builds its lists of words from finished rows in a fraction of the time.
    """
    if not _is_postgresql():
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {TABLE}_body")
        yield
        cursor.execute("SET LOCAL maintenance_work_mem TO '256MB'")
        cursor.execute(f"CREATE INDEX {TABLE}_body ON {TABLE} USING gin (body)")


def settle(pages: int, *, fully: bool) -> bool:
    """Put so many pages of what was added in order; True while there may be more to do.

    Between two additions only pieces of like size are joined, `fully` at the end all of them.
    """
    with connection.cursor() as cursor:
        if _is_postgresql() and not fully:
            return False
        if _is_postgresql():
            cursor.execute(f"SELECT gin_clean_pending_list('{TABLE}_body'::regclass)")
            # It has to know which words are common: of those it reads the table, not the index.
            cursor.execute(f"ANALYZE {TABLE}")
            return False
        before, step = _changes(cursor), -pages if fully else pages
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', %s)", [step])
        # FTS5 reports fewer than two changes once there is nothing left to merge.
        return _changes(cursor) - before >= 2


def matching(
    text: str, *, versions: Collection[int], domain: int | None = None, most: int
) -> list[int]:
    """Ids of passages of these versions that hold every word of the text; the first `most`."""
    words = _WORD.findall(unicodedata.normalize("NFC", text))[:_MAX_WORDS]
    star = ":*" if _is_postgresql() else "*"
    terms = [(word, star if len(word) >= _SHORTEST_PREFIX else "") for word in words]
    return _find(terms, versions, domain, most)


def passages_with(word: str, *, versions: Collection[int], domain: int, most: int) -> list[int]:
    """Ids of the domain's passages that hold this very word; the first `most`, in no order.

    `word` as `words_of` gives it. One list of the index: quick however large the corpus is.
    """
    return _find([(word, "")], versions, domain, most)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, as the index distinguishes them, each occurrence."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def _find(
    terms: list[tuple[str, str]], versions: Collection[int], domain: int | None, most: int
) -> list[int]:
    """Ids of passages that hold all of these words, each with what makes it a beginning, or ""."""
    if not terms or not versions:
        return []
    if _is_postgresql():
        within, parameters = "version_id = ANY(%s)", list[Any]([list(versions)])
        if domain is not None:
            within, parameters = f"{within} AND domain_id = %s", [*parameters, domain]
        asked = " & ".join(f"'{word}'{star}" for word, star in terms)
        condition = f"{within} AND body @@ to_tsquery('simple', %s)"
    else:
        parts = [f'body : "{word}"{star}' for word, star in terms]
        parts.append(f"({' OR '.join(f'scope : v{version}' for version in versions)})")
        parts += [f"scope : d{domain}"] if domain else []
        asked, condition, parameters = " AND ".join(parts), f"{TABLE} MATCH %s", []
    try:
        with connection.cursor() as cursor:
            sql = f"SELECT rowid FROM {TABLE} WHERE {condition} LIMIT %s"
            cursor.execute(sql, [*parameters, asked, most])
            return [pk for (pk,) in cursor.fetchall()]
    except OperationalError as error:
        # Letters that are younger than SQLite's tables of them part a word in two, and this
        # index keeps no places by which parts would be joined.
        if "phrase queries" in str(error):
            return []
        raise


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"


def _changes(cursor: Any) -> int:
    cursor.execute("SELECT total_changes()")
    count: int = cursor.fetchone()[0]
    return count
