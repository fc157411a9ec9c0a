"""HotpotQA-style rows: a question, its answers, and labelled paragraphs.

Paragraph ids repeat in every question, so a passage id is `{question_id}/{id}`.
"""

from collections.abc import Iterator
from pathlib import Path

from corpus.importers.fields import PID_LIMIT, QID_LIMIT, TITLE_LIMIT, Record, text_fault
from corpus.importers.files import Meter, data_files
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import (
    JudgmentRow,
    Oddity,
    PairRow,
    PassageRow,
    Place,
    Problem,
    QueryRow,
    Row,
)

DOMAIN = "hotpotqa"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a file (or a folder of files); every paragraph is judged and paired."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "This format holds its own labels and takes no qrels.")
        return
    files = data_files(path)
    if not files:
        yield nothing_here(path, "a file of questions")
    meter.expect(files)
    for file in files:
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _question(record)


def _question(record: Record) -> Iterator[Row]:
    qid = record.ident("question_id", limit=QID_LIMIT)
    answers = tuple(dict.fromkeys(_answers(record)))
    place = record.place.at("question_text")
    query = QueryRow(DOMAIN, qid, record.text("question_text"), place, answers=answers)
    rows: list[Row] = [query]
    if not answers:
        rows.append(Oddity("questions without an answer", qid))
    for paragraph in record.items("contexts"):
        rows += _paragraph(qid, paragraph)
    yield from record.problems or rows


def _paragraph(qid: str, record: Record) -> list[Row]:
    pid = f"{qid}/{record.ident('id')}"
    if fault := text_fault(pid, PID_LIMIT):
        record.wrong("id", fault)
    passage = PassageRow(
        domain=DOMAIN,
        pid=pid,
        text=record.text("paragraph_text"),
        place=record.place.at(record.prefix + "paragraph_text"),
        title=record.text("title", limit=TITLE_LIMIT),
    )
    label = int(record.flag("is_supporting"))
    place = record.place.at(record.prefix + "is_supporting")
    return [
        passage,
        JudgmentRow(DOMAIN, qid, pid, label, place),
        PairRow(DOMAIN, qid, pid, record.place),
    ]


def _answers(record: Record) -> Iterator[str]:
    """Every span; where an answer has none, its number or its date."""
    for each in record.items("answers_objects"):
        spans = [span for span in each.maybe_texts("spans") or () if span]
        yield from spans or filter(None, [_number(each) or _date(each)])


def _number(answer: Record) -> str:
    value = answer.data.get("number")
    return str(value) if isinstance(value, str | int | float) and value != "" else ""


def _date(answer: Record) -> str:
    parts = answer.data.get("date")
    if not isinstance(parts, dict):
        return ""
    named = (str(parts.get(name) or "") for name in ("day", "month", "year"))
    return " ".join(filter(None, named))
