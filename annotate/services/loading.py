"""Aspects and gold passages that an import brings, and carrying out a whole import."""

import logging
from collections.abc import Sequence

from django.db import connection
from django.utils import timezone

from annotate.models import Aspect
from annotate.services.loading_supports import load_supports, note_unlisted
from corpus.importers.rows import AspectRow, Key
from corpus.models import ImportRun
from corpus.services.loading import load
from corpus.services.loading_context import LoadContext, chunks
from corpus.services.uploads import forget_upload
from kit.bulk import copy_rows
from kit.runs import LostLease, RunStatus

logger = logging.getLogger(__name__)
# An import that killed its worker this often is not tried again.
_MOST_CLAIMS = 5
_COLUMNS = ("query_id", "k", "position", "content", "weight", "scale")
EDITED = "aspects changed here since they were imported, left as they are"


def carry_out(run: ImportRun) -> None:
    """Do a claimed import to its end, whatever happens; the run's row says what came of it.

    Leaves the run alone if it was cancelled or taken over meanwhile.
    """
    try:
        _load(run)
    except LostLease:
        logger.info("import %s was stopped or taken over", run.pk)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("import %s failed", run.pk)
        _give_up(run, "Something went wrong on our side. Nothing was loaded; please try again.")
    run.refresh_from_db()
    if run.is_over:
        forget_upload(run)


def load_aspects(context: LoadContext, rows: Sequence[AspectRow]) -> None:
    """Add the aspects that are not here, with their gold passages.

    No label is written: the imported gold holds it. An aspect of the same number that people
    changed since its import is left to them, and so is every passage they gave a verdict on; an
    aspect with other content is a problem.
    """
    keys = {context.queries[row.domain, row.qid] for row in rows if _has_query(context, row)}
    known = _known_aspects(keys)
    positions = _positions(rows)
    placed = [(row, context.queries.get((row.domain, row.qid))) for row in rows]
    new = []
    for row, query in placed:
        if query is not None and (aspect := known.get((query, row.k))):
            _compare(context, row, aspect)
        elif query is not None:
            new.append((query, row, positions[row.domain, row.qid, row.k]))
    made = _write(new)
    of_row = [
        (row, known.get((query, row.k)) or made[query, row.k])
        for row, query in placed
        if query is not None
    ]
    context.tally.add("aspects", added=len(new), present=len(of_row) - len(new))
    load_supports(context, of_row)
    note_unlisted(context)


def _load(run: ImportRun) -> None:
    if run.fence > _MOST_CLAIMS:
        _give_up(run, "This import stopped its worker several times. Nothing was loaded.")
    else:
        load(run, extras=[load_aspects])


def _give_up(run: ImportRun, message: str) -> None:
    try:
        run.finish(status=RunStatus.FAILED, error=message, version=None)
    except LostLease:
        logger.info("import %s is no longer ours", run.pk)


def _has_query(context: LoadContext, row: AspectRow) -> bool:
    if (row.domain, row.qid) in context.queries:
        return True
    context.tally.fail(row.place.at("id"), f"There is no query {row.qid} in {row.domain}.")
    return False


def _known_aspects(queries: set[int]) -> dict[tuple[int, int], Aspect]:
    return {
        (aspect.query_id, aspect.k): aspect
        for batch in chunks(sorted(queries))
        for aspect in Aspect.objects.filter(query_id__in=batch)
    }


def _positions(rows: Sequence[AspectRow]) -> dict[tuple[str, str, int], int]:
    """Place of each aspect among those of its query, by number, from 0."""
    numbers: dict[Key, list[int]] = {}
    for row in rows:
        numbers.setdefault((row.domain, row.qid), []).append(row.k)
    return {
        (domain, qid, k): position
        for (domain, qid), found in numbers.items()
        for position, k in enumerate(sorted(found))
    }


def _write(new: Sequence[tuple[int, AspectRow, int]]) -> dict[tuple[int, int], Aspect]:
    """Insert aspects (query, row, position) at driver speed: people wait to save meanwhile."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    columns = (*_COLUMNS, "rationale", "version", "created_at", "updated_at")
    values = (
        (query, row.k, position, row.content, row.weight, row.scale, "", 1, now, now)
        for query, row, position in new
    )
    copy_rows(Aspect, columns, values)
    return _known_aspects({query for query, _, _ in new}) if new else {}


def _compare(context: LoadContext, row: AspectRow, aspect: Aspect) -> None:
    stored = (aspect.content, aspect.weight, aspect.scale)
    if aspect.created_by_id is None and (aspect.version > 1 or aspect.removed_at):
        context.tally.odd(EDITED, f"{row.domain}-{row.qid}-a{row.k}")
    elif stored != (row.content, row.weight, row.scale):
        message = f"The query has another aspect numbered {row.k} already; give this a new number."
        context.tally.fail(row.place, message)
