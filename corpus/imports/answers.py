"""Loading short answers beside queries that are here already (corpus/texts/answers.py)."""

from collections import defaultdict
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from corpus.importers.answers import AnswersRow, read_answers
from corpus.importers.files import Meter
from corpus.importers.rows import Location, Problem
from corpus.imports.context import MAX_PROBLEMS, chunks
from corpus.models import Benchmark, Query
from corpus.texts.answers import cleaned_answers, replace_answers
from kit.errors import Refused


def load_answers(
    *,
    benchmark: Benchmark,
    path: Path,
    domain: str = "",
    replace: bool = False,
    actor: User | None,
) -> tuple[dict[str, int], list[Problem]]:
    """Write the short answers of a file, all or nothing: counts, or at most 100 problems.

    `domain` is that of rows which name none. A query that has other answers already is a problem
    unless `replace` is set. Counts: `queries` and `answers` of the file; of the queries those
    `written` and those that had the `same`.
    """
    rows, problems = _read(path)
    with transaction.atomic():
        found = _queries(benchmark, rows, domain, problems)
        wanted: dict[Query, list[str]] = {}
        for query, (answers, location) in found.items():
            try:
                cleaned = cleaned_answers(answers)
            except Refused as refusal:
                problems.append(Problem(location, refusal.message))
                continue
            if not cleaned:
                problems.append(Problem(location, f"Query {query} gets no answer."))
            elif any(map(str.strip, query.answers)) and query.answers != cleaned and not replace:
                has = f"Query {query} has other short answers already; --replace writes these."
                problems.append(Problem(location, has))
            else:
                wanted[query] = cleaned
        new = {query: answers for query, answers in wanted.items() if answers != query.answers}
        if not problems and new:
            replace_answers(benchmark, new, actor=actor, file=path.name)
    if not problems and not found:
        problems.append(Problem(Location(path.name), "No answers are in this file."))
    counts = {
        "queries": len(wanted),
        "answers": sum(map(len, wanted.values())),
        "written": len(new),
        "same": len(wanted) - len(new),
    }
    return counts, problems[:MAX_PROBLEMS]


def _read(path: Path) -> tuple[list[AnswersRow], list[Problem]]:
    rows: list[AnswersRow] = []
    problems: list[Problem] = []
    for each in read_answers(path, Meter(limit=settings.ASSAY_IMPORT_LIMIT)):
        if isinstance(each, AnswersRow):
            rows.append(each)
        else:
            problems.append(each)
            if len(problems) >= MAX_PROBLEMS:
                break
    return rows, problems


def _queries(
    benchmark: Benchmark, rows: list[AnswersRow], domain: str, problems: list[Problem]
) -> dict[Query, tuple[list[str], Location]]:
    """The answers of each query that the rows name, and where they begin; locks the queries."""
    by_id: dict[str, list[Query]] = defaultdict(list)
    here = Query.objects.in_benchmark(benchmark).select_for_update(of=("self",))
    for part in chunks(dict.fromkeys(row.qid for row in rows)):
        for query in here.filter(qid__in=part):
            by_id[query.qid].append(query)
    found: dict[Query, tuple[list[str], Location]] = {}
    for row in rows:
        named = row.domain or domain
        fitting = [each for each in by_id[row.qid] if not named or each.domain.name == named]
        if len(fitting) == 1:
            found.setdefault(fitting[0], ([], row.location))[0].extend(row.answers)
            continue
        message = f"{benchmark.slug} has no query {row.qid!r}" + (f" in {named}." if named else ".")
        if fitting:
            domains = ", ".join(each.domain.name for each in fitting)
            message = f"Query {row.qid} is in several domains ({domains}): name one."
        problems.append(Problem(row.location, message))
        if len(problems) >= MAX_PROBLEMS:
            break
    return found
