"""Files of short answers beside a benchmark that has its queries already.

JSON (lines or one list, `.gz` or not, or parquet): `id` (or `q_id`, `qid`, `query_id`), `answers`
(a list of texts) or `answer` (one), optional `domain`. Tab-separated: the query's id and one answer
on each line, under a heading or not; a query may have several lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.importers.fields import DOMAIN_LIMIT, QID_LIMIT, Record, faults_at
from corpus.importers.files import DATA, DataFile, Meter
from corpus.importers.reading import column_lines, records
from corpus.importers.rows import Location, Problem

ANSWER_LIMIT = 20_000
_IDS = ("id", "q_id", "qid", "query_id")
_HEADINGS = {"answer", "answers"}


@dataclass(frozen=True, slots=True)
class AnswersRow:
    """Short answers of one query; `domain` is "" where the file names none."""

    domain: str
    qid: str
    answers: tuple[str, ...]
    location: Location


def read_answers(path: Path, meter: Meter) -> Iterator[AnswersRow | Problem]:
    """Short answers of queries in the order of the file, problems in place of what is wrong.

    A query may come several times; its answers then belong together.
    """
    file = DataFile(path, path.name, "")
    if DATA.search(path.name):
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _of_record(record)
        return
    for each in column_lines(file, meter):
        yield from [each] if isinstance(each, Problem) else _of_line(*each)
    meter.end(file)


def _of_record(record: Record) -> list[AnswersRow | Problem]:
    qid = record.ident(record.first_given(_IDS), limit=QID_LIMIT)
    domain = record.maybe_text("domain", limit=DOMAIN_LIMIT) or ""
    if record.given("answer") and not record.given("answers"):
        answers: tuple[str, ...] = (record.text("answer", limit=ANSWER_LIMIT),)
        field = "answer"
    else:
        answers, field = record.texts("answers", limit=ANSWER_LIMIT), "answers"
    if record.problems:
        return list(record.problems)
    return [AnswersRow(domain, qid, answers, record.location.at(field))]


def _of_line(location: Location, line: str) -> list[AnswersRow | Problem]:
    qid, tab, answer = line.partition("\t")
    if not tab:
        return [Problem(location, "A query id, a tab and an answer are needed here.")]
    if location.line == 1 and qid.lower().replace("-", "_") in _IDS and answer.lower() in _HEADINGS:
        return []
    faults = faults_at(location, ("id", qid, QID_LIMIT), ("answer", answer, ANSWER_LIMIT))
    return [*faults] or [AnswersRow("", qid, (answer,), location.at("answer"))]
