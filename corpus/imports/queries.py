"""Queries of a load: compared with those that are here, then written where nobody sees them.

New queries wait in a domain of their own that is never ready, because labels and pairs that refer
to them are written before they may be seen; publishing moves them over by one UPDATE a domain.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from django.db import IntegrityError, connection
from django.utils import timezone

from corpus.importers.formats import format_named
from corpus.importers.rows import QueryRow
from corpus.imports.context import ConcurrentLoad, LoadContext, Pace, known
from corpus.imports.named import LoadRows
from corpus.imports.texts import as_json, fill_rows, json_list
from corpus.models import Domain, Query
from corpus.texts.answers import written_here

_TEXTS = ("text", "description", "narrative", "gold_answer", "reasoning", "reference_answer")
_LISTS = ("answers", "community_answers", "gold_ids_long", "excluded_ids")
_FIELDS = (*_TEXTS, *_LISTS, "extra")
_COLUMNS = ("domain_id", "qid", *_FIELDS, "has_title", "created_at")


# What publishing does: moves from a waiting domain to its own, and texts to fill in.
QueryChanges: TypeAlias = tuple[dict[int, int], list[tuple[Any, ...]]]


def stage_queries(context: LoadContext, gathered: LoadRows, pace: Pace) -> QueryChanges:
    """Write the load's new queries where nobody sees them, and compare the others.

    Fills `context.queries`. What a file leaves out clashes with nothing.
    """
    here = {
        (domain, query.qid): query
        for domain, found in known(context, Query.objects.all(), "qid", gathered.query_keys())
        for query in found
    }
    pairs = [(row, here[key]) for key, row in gathered.queries.items() if key in here]
    new = [row for key, row in gathered.queries.items() if key not in here]
    fills = [filled for row, query in pairs if (filled := _compare(context, row, query))]
    context.queries = {key: query.pk for key, query in here.items()}
    moves = {} if context.tally.problems else _write(context, new, pace)
    context.tally.add("queries", added=len(new), present=len(pairs) - len(fills), filled=len(fills))
    return moves, fills


def show_queries(changes: QueryChanges) -> None:
    """Part of publishing; raises Overtaken if another load brought or filled one of them."""
    moves, fills = changes
    fill_rows(Query, (*_FIELDS, "has_title"), fills, empty="text = ''")
    try:
        for waiting, domain in moves.items():
            Query.objects.filter(domain_id=waiting).update(domain_id=domain)
    except IntegrityError as error:
        raise ConcurrentLoad from error
    # Empty now, and nothing else ever referred to them: looking for that would take SQLite long.
    Domain.objects.filter(pk__in=moves)._raw_delete(connection.alias)


def _compare(context: LoadContext, row: QueryRow, query: Query) -> tuple[Any, ...] | None:
    """A query that was known by its id alone takes what the row brings; any other must agree."""
    is_filled = not query.text and bool(row.text)
    values = []
    for name in _FIELDS:
        given, stored = getattr(row, name), getattr(query, name)
        given = list(given) if isinstance(given, tuple) else given
        values.append(stored if given is None else given)
        if given is None or given == stored or (is_filled and not stored):
            continue
        if name == "answers" and written_here(query):
            values[-1] = stored
            context.tally.odd("short answers that were written here, kept", str(query))
            continue
        location = row.location if name == "text" else row.location.at(name)
        message = f"Query {row.qid} is here already with another {name.replace('_', ' ')}."
        context.tally.fail(location, f"{message} Queries are never edited: give it a new id.")
    return (*_columns(values), _has_titles(context), query.pk) if is_filled else None


def _write(context: LoadContext, rows: Sequence[QueryRow], pace: Pace) -> dict[int, int]:
    """The waiting domain of each domain that has new queries, with the domain's own key."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    groups: dict[str, list[QueryRow]] = {}
    for row in rows:
        groups.setdefault(row.domain, []).append(row)
    moves: dict[int, int] = {}
    titled = _has_titles(context)
    for name, group in groups.items():
        with pace.writing(context, 0):
            domain = context.domain(name)
            waiting = Domain.objects.create(
                benchmark=context.benchmark,
                name=f"import/{context.run.pk}/{context.run.fence}/{domain}",
            )
            context.stage("domains", waiting.pk)
        moves[waiting.pk] = domain
        values = (
            (waiting.pk, row.qid, *_columns([getattr(row, each) for each in _FIELDS]), titled, now)
            for row in group
        )
        pace.write(context, Query, _COLUMNS, values)
        written = Query.objects.filter(domain=waiting).order_by().values_list("qid", "pk")
        context.queries |= {(name, qid): pk for qid, pk in written.iterator()}
    return moves


def _has_titles(context: LoadContext) -> bool:
    return format_named(context.run.format).has_titles


def _columns(values: Sequence[Any]) -> list[Any]:
    """Database values of _FIELDS; what is not given takes the column's default."""
    given = dict(zip(_FIELDS, values, strict=True))
    texts = [given[name] or "" for name in _TEXTS]
    return [*texts, *(json_list(given[name]) for name in _LISTS), as_json(given["extra"])]
