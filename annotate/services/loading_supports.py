"""Supporting passages that an import brings. What experts decided here is theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.utils import timezone

from annotate.models import Aspect, GoldPassage
from corpus.importers.rows import AspectRow
from corpus.models import Judgment, Source
from corpus.services.judgments import hold_queries
from corpus.services.loading_context import LoadContext, chunks
from kit.bulk import copy_rows

DECIDED = "supporting passages that experts decided on here, left as they are"
UNLISTED = "supporting passages that the current gold does not list, to be decided anew"
Pair = tuple[int, int]


@dataclass
class _Known:
    """What is here of each (query, passage): its assignment that stands, and experts' traces."""

    standing: dict[Pair, GoldPassage] = field(default_factory=dict)
    decided: set[Pair] = field(default_factory=set)


def load_supports(context: LoadContext, of_row: Sequence[tuple[AspectRow, Aspect]]) -> None:
    """Assign supporting passages, but none that an expert ever labelled or took away here.

    The queries are held from here to the end of the import, so that no verdict comes between.
    """
    known = _read_known(sorted({aspect.query_id for _, aspect in of_row}))
    new: list[tuple[int, int, int]] = []
    for row, aspect in of_row:
        for pid in row.supporting_docs:
            pair = (aspect.query_id, context.passages[row.domain, pid])
            if pair in known.standing:
                _check_assigned(context, row, aspect, known.standing[pair], pid)
            elif pair in known.decided:
                context.tally.odd(DECIDED, f"{row.domain}-{row.qid}: {pid}")
            elif aspect.removed_at is None:
                new.append((aspect.pk, *pair))
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    columns = ("aspect_id", "query_id", "passage_id", "created_at")
    copy_rows(GoldPassage, columns, ((*ids, now) for ids in new))


def note_unlisted(context: LoadContext) -> None:
    """Count the imported assignments that a gold published by this import leaves without label."""
    changed = [each["domain"] for each in context.tally.gold if each["state"] != "unchanged"]
    rows = GoldPassage.objects.unlisted().filter(
        query__domain__in=[context.domain(name) for name in changed]
    )
    columns = ("query__domain__name", "query__qid", "passage__pid")
    for domain, qid, pid in rows.order_by("pk").values_list(*columns).iterator():
        context.tally.odd(UNLISTED, f"{domain}-{qid}: {pid}")


def _read_known(queries: list[int]) -> _Known:
    known = _Known()
    for batch in chunks(queries):
        hold_queries(batch)
        for gold in GoldPassage.objects.filter(query_id__in=batch):
            pair = (gold.query_id, gold.passage_id)
            if gold.ended_at is None:
                known.standing[pair] = gold
            else:
                known.decided.add(pair)
        labels = Judgment.objects.filter(query_id__in=batch, source=Source.EXPERT)
        known.decided |= set(labels.order_by().values_list("query_id", "passage_id"))
    return known


def _check_assigned(
    context: LoadContext, row: AspectRow, aspect: Aspect, gold: GoldPassage, pid: str
) -> None:
    """An imported assignment to another aspect is a clash; one that an expert made stays."""
    if gold.aspect_id == aspect.pk:
        return
    if gold.created_by_id is not None:
        context.tally.odd(DECIDED, f"{row.domain}-{row.qid}: {pid}")
    else:
        place = row.place.at("supporting_docs")
        context.tally.fail(place, f"{pid} already supports another aspect of this query.")
