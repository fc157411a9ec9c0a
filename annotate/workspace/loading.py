"""Running an import with its aspects and gold passages; what experts decided here stays."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from django.db import connection
from django.utils import timezone

from annotate.models import Aspect, GoldPassage, SupportLabel
from annotate.support.services import record_support
from annotate.workspace.models import SCALE_TOP
from annotate.workspace.scales import scale_of_benchmark
from corpus.importers.rows import AspectRow
from corpus.imports.context import LoadContext, chunks
from corpus.imports.loading import load
from corpus.imports.uploads import forget_upload
from corpus.judgments.services import lock_queries
from corpus.models import ImportRun, Judgment, Passage, Query, Source
from kit.database.bulk import copy_rows
from kit.runs.models import LostLease, RunStatus

logger = logging.getLogger(__name__)
# An import that killed its worker this often is not tried again.
_MOST_CLAIMS = 5
_COLUMNS = ("query_id", "k", "position", "content", "weight", "scale", "weighed", "subtopic")
# What the id of an aspect can end with.
_NUMBER = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)
EDITED = "aspects changed here since they were imported, left as they are"
DECIDED = "supporting passages that experts decided on here, left as they are"
SUBTOPICS = "subtopics taken as aspects, equal in weight: nobody chose one"
OWN_ASPECTS = "subtopics of queries with aspects of their own, which are no further aspects"
MACHINE = "passages of machine gold, beside the gold of aspects"
JUDGED = "passages of machine gold that have a label here, left as they are"
UNLISTED = "supporting passages that the current gold does not list, to be decided anew"
Pair = tuple[int, int]


def run_import(run: ImportRun) -> None:
    """Do a claimed import to its end, whatever happens; the run's row says what came of it.

    Leaves the run alone if it was cancelled or taken over meanwhile.
    """
    try:
        if run.fence > _MOST_CLAIMS:
            _give_up(run, "This import stopped its worker several times. Nothing was loaded.")
        else:
            load(run, extras=[load_aspects])
    except LostLease:
        logger.info("import %s was stopped or taken over", run.pk)
    except Exception:  # the job's outermost frame: logged, and shown in the row
        logger.exception("import %s failed", run.pk)
        _give_up(run, "Something went wrong on our side. Nothing was loaded; please try again.")
    run.refresh_from_db()
    if run.is_over:
        forget_upload(run)


def load_aspects(context: LoadContext, rows: Sequence[AspectRow]) -> None:
    """Add the aspects that are not here, with their gold passages.

    No label is written: the imported gold has it. An aspect of the same number that people
    changed since its import is left to them, and so is every passage they gave a verdict on; an
    aspect with other content is a problem. A subtopic is an aspect by its name.
    """
    placed = []
    for row in rows:
        if query := context.queries.get((row.domain, row.qid)):
            placed.append((query, row))
        else:
            message = f"There is no query {row.qid} in {row.domain}."
            context.tally.fail(row.location.at("id"), message)
    known = _known_aspects({query for query, _ in placed})
    placed = [*_with_numbers(context, placed, known)]
    for query, row in placed:
        if aspect := known.get((query, row.k)):
            _compare(context, row, aspect)
    new = [(query, row) for query, row in placed if (query, row.k) not in known]
    known |= _write(new, placed)
    of_row = [(row, known[query, row.k]) for query, row in placed]
    context.tally.add("aspects", added=len(new), present=len(of_row) - len(new))
    for _, row in new:
        if not row.weight:
            context.tally.odd(SUBTOPICS, f"{row.domain}-{row.qid}-a{row.k}")
    load_supports(context, of_row)
    load_machine_gold(context, of_row)
    note_unlisted(context)


def _give_up(run: ImportRun, message: str) -> None:
    try:
        run.finish(status=RunStatus.FAILED, error=message, version=None)
    except LostLease:
        logger.info("import %s is no longer ours", run.pk)


def _known_aspects(queries: set[int]) -> dict[tuple[int, int], Aspect]:
    return {
        (aspect.query_id, aspect.k): aspect
        for batch in chunks(sorted(queries))
        for aspect in Aspect.objects.filter(query_id__in=batch)
    }


def _with_numbers(
    context: LoadContext,
    placed: Sequence[tuple[int, AspectRow]],
    known: Mapping[tuple[int, int], Aspect],
) -> Iterator[tuple[int, AspectRow]]:
    """Rows of subtopics with number, words and scale: those of the aspect that is here, else the
    number that is the subtopic's name where that is free, and the words of the query's topic.

    A query with aspects that are no subtopics keeps these alone.
    """
    names: dict[int, dict[str, int]] = defaultdict(dict)
    taken: dict[int, set[int]] = defaultdict(set)
    for (query, k), aspect in known.items():
        taken[query].add(k)
        if aspect.subtopic:
            names[query][aspect.subtopic] = k
    subtopics = [(query, row) for query, row in placed if not row.weight]
    words = _words_of({query for query, _ in subtopics})
    scale = scale_of_benchmark(context.benchmark).scale
    yield from ((query, row) for query, row in placed if row.weight)
    # Names that are numbers first, so that no other takes one of theirs.
    for query, row in sorted(subtopics, key=lambda pair: _order(pair[1].subtopic)):
        name, own = row.subtopic, names[query]
        if taken[query] and not own:
            context.tally.odd(OWN_ASPECTS, f"{row.domain}-{row.qid}: {name}")
            continue
        if name not in own:
            k = int(name) if _NUMBER.fullmatch(name) else 0
            own[name] = k if k and k not in taken[query] else max(taken[query], default=0) + 1
            taken[query].add(own[name])
        content = words.get((query, name), "" if name.isdecimal() else name)
        yield query, replace(row, k=own[name], content=content, scale=scale)


def _order(name: str) -> tuple[bool, int, str]:
    return not _NUMBER.fullmatch(name), int(name) if _NUMBER.fullmatch(name) else 0, name


def _words_of(queries: set[int]) -> dict[tuple[int, str], str]:
    """What topics say of each subtopic, by query and the subtopic's number."""
    found: dict[tuple[int, str], str] = {}
    for batch in chunks(sorted(queries)):
        rows = Query.objects.filter(pk__in=batch).order_by().values_list("pk", "extra")
        for pk, extra in rows:
            listed = extra.get("subtopics") if isinstance(extra, dict) else None
            for each in listed if isinstance(listed, list) else ():
                if isinstance(each, dict) and isinstance(text := each.get("text"), str):
                    found[pk, str(each.get("number", ""))] = text.strip()
    return found


def _write(
    new: Sequence[tuple[int, AspectRow]], placed: Sequence[tuple[int, AspectRow]]
) -> dict[tuple[int, int], Aspect]:
    """Insert aspects at driver speed, because people wait to save meanwhile.

    Their position is their place among all that are `placed` in their query, by number, from 0.
    """
    numbers: dict[int, list[int]] = defaultdict(list)
    for query, row in placed:
        numbers[query].append(row.k)
    positions = {(q, k): n for q, found in numbers.items() for n, k in enumerate(sorted(found))}
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    columns = (*_COLUMNS, "rationale", "version", "created_at", "updated_at")
    values = (
        (
            *(query, row.k, positions[query, row.k], row.content),
            *(row.weight or (SCALE_TOP[row.scale] + 1) // 2, row.scale, bool(row.weight)),
            *(row.subtopic, "", 1, now, now),
        )
        for query, row in new
    )
    copy_rows(Aspect, columns, values)
    return _known_aspects({query for query, _ in new}) if new else {}


def _compare(context: LoadContext, row: AspectRow, aspect: Aspect) -> None:
    stored = (aspect.content, aspect.weight, aspect.scale)
    given = (row.content, row.weight, row.scale) if row.weight else (row.content, *stored[1:])
    if aspect.created_by_id is None and (aspect.version > 1 or aspect.removed_at):
        context.tally.odd(EDITED, f"{row.domain}-{row.qid}-a{row.k}")
    elif row.content and not row.weight and not aspect.content:
        # The topics that say it came later than the judgments.
        Aspect.objects.filter(pk=aspect.pk, version=1).update(content=row.content)
    elif stored != given:
        message = f"The query has another aspect numbered {row.k} already; give this a new number."
        context.tally.fail(row.location, message)


def load_supports(context: LoadContext, of_row: Sequence[tuple[AspectRow, Aspect]]) -> None:
    """Assign supporting passages, but none that an expert ever labelled or took away here.

    The queries are locked from here to the end of the import, so that no verdict comes between.
    """
    standing, decided = _assigned_here(sorted({aspect.query_id for _, aspect in of_row}))
    new: list[tuple[int, int, int]] = []
    for row, aspect in of_row:
        for pid in row.supporting_docs:
            pair = (aspect.query_id, context.passages[row.domain, pid])
            if pair in standing:
                _check_assigned(context, row, aspect, standing[pair], pid)
            elif pair in decided:
                context.tally.odd(DECIDED, f"{row.domain}-{row.qid}: {pid}")
            elif aspect.removed_at is None:
                new.append((aspect.pk, *pair))
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    columns = ("aspect_id", "query_id", "passage_id", "created_at")
    copy_rows(GoldPassage, columns, ((*ids, now) for ids in new))


def load_machine_gold(context: LoadContext, of_row: Sequence[tuple[AspectRow, Aspect]]) -> None:
    """Add labels of support that machines or voters gave elsewhere, with their source; whatever was
    said of an aspect and passage here stays. The queries are locked (`load_supports`)."""
    asked = {aspect.pk for row, aspect in of_row if row.machine and aspect.removed_at is None}
    judged = {
        pair
        for batch in chunks(sorted(asked))
        for pair in SupportLabel.objects.filter(aspect__in=batch).values_list("aspect", "passage")
    }
    aspects = Aspect.objects.select_related("query__domain__benchmark").in_bulk(asked)
    passages = Passage.objects.defer("text").in_bulk(
        {context.passages[one.domain, one.pid] for row, _ in of_row for one in row.machine}
    )
    for row, aspect in of_row:
        for one in row.machine if aspect.pk in asked else ():
            passage = passages[context.passages[one.domain, one.pid]]
            known = (aspect.pk, passage.pk) in judged
            name = f"{one.domain}-{one.qid}-a{one.k}: {one.pid}"
            context.tally.odd(JUDGED if known else MACHINE, name)
            if not known:
                record_support(
                    aspect=aspects[aspect.pk],
                    passage=passage,
                    label=1,
                    source=one.source,
                    round=one.round,
                    provenance={"import": context.run.pk, "models": list(one.models)},
                )


def note_unlisted(context: LoadContext) -> None:
    """Count the imported assignments that a gold published by this import leaves without label."""
    changed = [each["domain"] for each in context.tally.gold if each["state"] != "unchanged"]
    rows = GoldPassage.objects.unlisted().filter(
        query__domain__in=[context.domain(name) for name in changed]
    )
    columns = ("query__domain__name", "query__qid", "passage__pid")
    for domain, qid, pid in rows.order_by("pk").values_list(*columns).iterator():
        context.tally.odd(UNLISTED, f"{domain}-{qid}: {pid}")


def _assigned_here(queries: list[int]) -> tuple[dict[Pair, GoldPassage], set[Pair]]:
    """Standing assignments by (query, passage), and the pairs that experts decided on before."""
    standing: dict[Pair, GoldPassage] = {}
    decided: set[Pair] = set()
    for batch in chunks(queries):
        lock_queries(batch)
        for gold in GoldPassage.objects.filter(query_id__in=batch):
            pair = (gold.query_id, gold.passage_id)
            if gold.ended_at is None:
                standing[pair] = gold
            else:
                decided.add(pair)
        labels = Judgment.objects.filter(query_id__in=batch, source=Source.EXPERT)
        decided |= set(labels.order_by().values_list("query_id", "passage_id"))
    return standing, decided


def _check_assigned(
    context: LoadContext, row: AspectRow, aspect: Aspect, gold: GoldPassage, pid: str
) -> None:
    """An imported assignment to another aspect is a clash; one that an expert made stays."""
    if gold.aspect_id == aspect.pk:
        return
    if gold.created_by_id is not None:
        context.tally.odd(DECIDED, f"{row.domain}-{row.qid}: {pid}")
    elif not row.weight:
        # Another version of the gold has it under another subtopic; no person has decided on it.
        if aspect.removed_at is None:
            GoldPassage.objects.filter(pk=gold.pk).update(aspect=aspect)
    else:
        location = row.location.at("supporting_docs")
        context.tally.fail(location, f"{pid} already supports another aspect of this query.")
