"""A benchmark's texts and current gold as rows again, in the order they were loaded.

What a file left out and what it gave as empty are the same here: the database keeps no
difference, so an empty title, answer or list comes back as not given.
"""

from collections.abc import Iterator
from typing import Any

from corpus.importers.rows import DocumentRow, JudgmentRow, PassageRow, Place, QueryRow, RunRow
from corpus.models import (
    CorpusVersion,
    Document,
    Domain,
    GoldVersion,
    Judgment,
    Passage,
    RankedList,
)
from corpus.models import RetrievalRun as Run

# Rows fetched at a time: what is held, whatever the size of the corpus.
CHUNK = 2_000
_STORED = Place("database")
_TEXTS = ("description", "narrative", "gold_answer", "reasoning", "reference_answer")
_LISTS = ("answers", "community_answers", "gold_ids_long", "excluded_ids")
NAMED = (*_TEXTS, *_LISTS)


def read_queries(domain: Domain) -> Iterator[QueryRow]:
    """Queries; the text is None where a query is known by its id alone."""
    rows = domain.queries.order_by("pk").values("qid", "text", "extra", *NAMED)
    for row in rows.iterator(chunk_size=CHUNK):
        given: dict[str, Any] = {name: row[name] or None for name in _TEXTS}
        given |= {name: tuple(row[name]) or None for name in _LISTS}
        text, extra = row["text"] or None, row["extra"]
        yield QueryRow(domain.name, row["qid"], text, _STORED, extra=extra, **given)


def read_passages(version: CorpusVersion | None, domain: Domain) -> Iterator[PassageRow]:
    """Passages of a version whose text is loaded."""
    rows = Passage.objects.in_version(version).with_text().filter(domain=domain).order_by("pk")
    columns = ("pid", "text", "title", "source_url", "extra")
    for pid, text, title, url, extra in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield PassageRow(
            domain.name, pid, text or "", _STORED, title or None, url or None, extra=extra
        )


def read_pages(version: CorpusVersion | None, domain: Domain) -> Iterator[DocumentRow]:
    """Pages of a version; those that experts collected stand outside of any."""
    layers = version.layers if version else []
    rows = Document.objects.filter(version_id__in=layers, domain=domain).order_by("pk")
    columns = ("doc_id", "text", "title", "source_url")
    for doc_id, text, title, url in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield DocumentRow(domain.name, doc_id, text, _STORED, title or None, url or None)


def read_gold(domain: Domain) -> Iterator[JudgmentRow]:
    """The gold that is current in the domain."""
    # By its version alone: a join with the domain's queries would be planned from their side.
    current = GoldVersion.objects.filter(domain=domain, is_current=True).values("pk")
    rows = Judgment.objects.filter(gold_version__in=current).order_by("pk")
    columns = ("query__qid", "passage__pid", "label", "subtopics")
    for qid, pid, label, subtopics in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield JudgmentRow(domain.name, qid, pid, label, _STORED, subtopics=subtopics)


def read_rankings(run: Run, domain: Domain) -> Iterator[RunRow]:
    """What a system retrieved for the domain's queries, under the run's name."""
    rows = RankedList.objects.filter(run=run, query__domain=domain).order_by("pk")
    columns = ("query__qid", "pids", "scores")
    for qid, pids, scores in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        kept = None if scores is None else tuple(scores)
        yield RunRow(domain.name, qid, tuple(pids), kept, run.name, _STORED)
