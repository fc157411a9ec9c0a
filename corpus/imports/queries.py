"""Queries of a load: compared with those that are here, then written where nobody sees them.

New queries wait in a domain of their own that is never ready, because labels and pairs that refer
to them are written before they may be seen; publishing moves them over by one UPDATE a domain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, connection
from django.utils import timezone

from corpus.importers.rows import Key, QueryRow
from corpus.imports.context import LoadContext, Overtaken, Pace, by_domain, chunks
from corpus.imports.named import Gathered
from corpus.imports.texts import as_json, fill_rows, json_list
from corpus.models import Domain, Query

_TEXTS = ("text", "description", "narrative", "gold_answer", "reasoning", "reference_answer")
_LISTS = ("answers", "community_answers", "gold_ids_long", "excluded_ids")
_FIELDS = (*_TEXTS, *_LISTS, "extra")
_COLUMNS = ("domain_id", "qid", *_FIELDS, "created_at")


@dataclass
class QueryChanges:
    """What publishing does with queries: from a waiting domain to its own; texts to fill in."""

    moves: dict[int, int] = field(default_factory=dict)
    fills: list[tuple[Any, ...]] = field(default_factory=list)


def stage_queries(context: LoadContext, gathered: Gathered, pace: Pace) -> QueryChanges:
    """Write the load's new queries where nobody sees them, and compare the others.

    Fills `context.queries`. What a file leaves out clashes with nothing.
    """
    changes = QueryChanges()
    known = _known_queries(context, gathered.query_keys())
    for key, row in gathered.queries.items():
        if key in known:
            _compare(context, row, known[key], changes)
    new = [row for key, row in gathered.queries.items() if key not in known]
    context.queries = {key: query.pk for key, query in known.items()}
    if not context.tally.problems:
        _write(context, new, changes, pace)
    filled = len(changes.fills)
    present = len(gathered.queries) - len(new) - filled
    context.tally.add("queries", added=len(new), present=present, filled=filled)
    return changes


def show_queries(changes: QueryChanges) -> None:
    """Part of publishing; raises Overtaken if another load brought or filled one of them."""
    fill_rows(Query, _FIELDS, changes.fills, empty="text = ''")
    try:
        for waiting, domain in changes.moves.items():
            Query.objects.filter(domain_id=waiting).update(domain_id=domain)
    except IntegrityError as error:
        raise Overtaken from error
    # Empty now, and nothing else ever referred to them: looking for that would take SQLite long.
    Domain.objects.filter(pk__in=changes.moves)._raw_delete(connection.alias)


def _known_queries(context: LoadContext, keys: Iterable[Key]) -> dict[Key, Query]:
    return {
        (domain, query.qid): query
        for domain, qids in by_domain(keys).items()
        if domain in context.domains
        for batch in chunks(qids)
        for query in Query.objects.filter(
            domain_id=context.domains[domain], qid__in=batch
        ).order_by()
    }


def _compare(context: LoadContext, row: QueryRow, query: Query, changes: QueryChanges) -> None:
    """A query that was known by its id alone takes what the row brings; any other must agree."""
    is_filled = not query.text and bool(row.text)
    for name in _FIELDS:
        given, stored = _plain(getattr(row, name)), getattr(query, name)
        if given is None or given == stored or (is_filled and not stored):
            continue
        place = row.place if name == "text" else row.place.at(name)
        message = f"Query {row.qid} is here already with another {name.replace('_', ' ')}."
        context.tally.fail(place, f"{message} Queries are never edited: give it a new id.")
    if is_filled:
        stored_too = [_either(getattr(row, name), getattr(query, name)) for name in _FIELDS]
        changes.fills.append((*_columns(stored_too), query.pk))


def _write(
    context: LoadContext, rows: Sequence[QueryRow], changes: QueryChanges, pace: Pace
) -> None:
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    groups: dict[str, list[QueryRow]] = {}
    for row in rows:
        groups.setdefault(row.domain, []).append(row)
    for name, group in groups.items():
        waiting = _waiting_domain(context, name, changes, pace)
        values = (
            (waiting, row.qid, *_columns([getattr(row, each) for each in _FIELDS]), now)
            for row in group
        )
        pace.write(context, Query, _COLUMNS, values)
        written = Query.objects.filter(domain_id=waiting).order_by().values_list("qid", "pk")
        context.queries |= {(name, qid): pk for qid, pk in written.iterator()}


def _waiting_domain(context: LoadContext, name: str, changes: QueryChanges, pace: Pace) -> int:
    run = context.run
    with pace.writing(context, 0):
        domain = context.domain(name)
        waiting = Domain.objects.create(
            benchmark=context.benchmark, name=f"import/{run.pk}/{run.fence}/{domain}"
        )
        context.stage("domains", waiting.pk)
    changes.moves[waiting.pk] = domain
    return waiting.pk


def _columns(values: Sequence[Any]) -> list[Any]:
    """Database values of _FIELDS; what is not given takes the column's default."""
    given = dict(zip(_FIELDS, values, strict=True))
    texts = [given[name] or "" for name in _TEXTS]
    return [*texts, *(json_list(given[name]) for name in _LISTS), as_json(given["extra"])]


def _either(given: Any, stored: Any) -> Any:
    return stored if given is None else given


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
