"""Writing a benchmark as it was imported: its texts, current gold and retrieval runs, in the order
they were loaded; or a corpus version that a cleaning made, with the gold that it inherits.

Labels that were given since, aspects and people's work are what releases are for; of them
Bright-Pro's format has gold, aspects and the published reference answers, as a release has. What a
file left out and what it gave as empty are the same here: the database keeps no difference, so an
empty title, answer or list comes back as not given.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from django.db.models import Q

from corpus.importers.blocks import ABOUT
from corpus.importers.rows import DocumentRow, JudgmentRow, Location, PassageRow, QueryRow, RunRow
from corpus.imports.context import chunks
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Document,
    Domain,
    GoldVersion,
    Judgment,
    Passage,
    RankedList,
    RetrievalRun,
)
from corpus.texts.models import PassageQuerySet
from corpus.versions.effective import effective_labels
from corpus.versions.excluded import excluded_in
from evaluation.content.reading import CHUNK, read_licences, read_requests
from evaluation.content.reading import read_queries as read_records
from evaluation.content.view import frozen, view_of
from evaluation.exporters import beir, bright, bright_pro, trec
from evaluation.exporters.files import about, write_jsonl, write_list
from evaluation.exporters.licences import write_licences
from evaluation.exporters.names import split_name
from evaluation.exporters.rankllm import Request, write_requests
from evaluation.exporters.records import QueryRecord
from evaluation.releases.building import is_free
from kit.errors import Refused

T = TypeVar("T")
KINDS = ("queries", "passages", "pages", "judgments", "aspects", "rankings", "wordings")
_STORED = Location("database")
_TEXTS = ("description", "narrative", "gold_answer", "reasoning", "reference_answer")
_LISTS = ("answers", "community_answers", "gold_ids_long", "excluded_ids")
NAMED = (*_TEXTS, *_LISTS)
_PLAIN = re.compile(r"\w[\w .+%()-]*")


def read_queries(version: CorpusVersion | None, domain: Domain) -> Iterator[QueryRow]:
    """Queries; the text is None where a query is known by its id alone.

    In a version that a cleaning made, excluded ids are those of its own passages.
    """
    excluded: dict[str, set[str]] = {}
    if version is not None and version.is_derived:
        queries = list(domain.queries.exclude(excluded_ids=[]))
        found = excluded_in(version, queries)
        excluded = {query.qid: found.get(query.pk, set()) for query in queries}
    rows = domain.queries.order_by("pk").values("qid", "text", "extra", *NAMED)
    for row in rows.iterator(chunk_size=CHUNK):
        given: dict[str, Any] = {name: row[name] or None for name in _TEXTS}
        given |= {name: tuple(row[name]) or None for name in _LISTS}
        if row["qid"] in excluded:
            given["excluded_ids"] = tuple(sorted(excluded[row["qid"]])) or None
        text, extra = row["text"] or None, row["extra"]
        yield QueryRow(domain.name, row["qid"], text, _STORED, extra=extra, **given)


def read_passages(version: CorpusVersion | None, domain: Domain) -> Iterator[PassageRow]:
    """Passages of a version whose text is loaded."""
    yield from _passages(Passage.objects.in_version(version), domain)


def _passages(passages: PassageQuerySet, domain: Domain) -> Iterator[PassageRow]:
    rows = passages.with_text().filter(domain=domain).order_by("pk")
    columns = ("pid", "text", "extra", *ABOUT)
    for pid, text, extra, *rest in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield PassageRow(domain.name, pid, text or "", _STORED, *_about(*rest), extra=extra)


def read_pages(version: CorpusVersion | None, domain: Domain) -> Iterator[DocumentRow]:
    """Pages of a version; those that experts collected stand outside of any."""
    layers = version.layers if version else []
    rows = Document.objects.filter(version_id__in=layers, domain=domain).order_by("pk")
    for doc_id, text, *rest in rows.values_list("doc_id", "text", *ABOUT).iterator(CHUNK):
        yield DocumentRow(domain.name, doc_id, text, _STORED, *_about(*rest))


def _about(title: str, url: str, day: date | None) -> tuple[str | None, str | None, str | None]:
    return title or None, url or None, None if day is None else day.isoformat()


def read_gold(version: CorpusVersion | None, domain: Domain) -> Iterator[JudgmentRow]:
    """The gold that is current in the domain, as the version has or inherits it."""
    if version is not None and version.is_derived:
        labels = effective_labels(version, about=Q(query__domain=domain)).labels
        base = [(each.query, each.passage, each.base) for each in labels if each.base is not None]
        qids = dict(domain.queries.values_list("pk", "qid"))
        for part in chunks(base):
            passages = Passage.objects.filter(pk__in={key for _, key, _ in part}).order_by()
            pids = dict(passages.values_list("pk", "pid"))
            for query, passage, label in part:
                yield JudgmentRow(domain.name, qids[query], pids[passage], label, _STORED)
        return
    # By its version alone: a join with the domain's queries would be planned from their side.
    current = GoldVersion.objects.filter(domain=domain, is_current=True).values("pk")
    rows = Judgment.objects.filter(gold_version__in=current).order_by("pk")
    columns = ("query__qid", "passage__pid", "label", "subtopics")
    for qid, pid, label, subtopics in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        yield JudgmentRow(domain.name, qid, pid, label, _STORED, subtopics=subtopics)


def read_rankings(run: RetrievalRun, domain: Domain) -> Iterator[RunRow]:
    """What a system retrieved for the domain's queries, under the run's name."""
    rows = RankedList.objects.filter(run=run, query__domain=domain).order_by("pk")
    columns = ("query__qid", "pids", "scores")
    for qid, pids, scores in rows.values_list(*columns).iterator(chunk_size=CHUNK):
        kept = None if scores is None else tuple(scores)
        yield RunRow(domain.name, qid, tuple(pids), kept, run.name, _STORED)


@dataclass
class Export:
    """The folder on its way, the corpus version that is written, and how much was."""

    place: Path
    version: CorpusVersion | None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def counted(self, kind: str, rows: Iterable[T]) -> Iterator[T]:
        """The rows, counted as they are written."""
        for row in rows:
            self.counts[kind] += 1
            yield row

    def queries(self, domain: Domain) -> Iterator[QueryRow]:
        """The domain's queries."""
        return self.counted("queries", read_queries(self.version, domain))

    def passages(self, domain: Domain) -> Iterator[PassageRow]:
        """The domain's passages that have a text."""
        return self.counted("passages", read_passages(self.version, domain))

    def requests(self, run: RetrievalRun, domain: Domain) -> Iterator[Request]:
        """What a reranker is asked of a run."""
        passages = Passage.objects.in_version(self.version)
        queries = domain.queries.exclude(excluded_ids=[])
        excluded = {} if self.version is None else excluded_in(self.version, queries)
        return read_requests(run, domain, passages, excluded)

    def gold(self, domain: Domain) -> Iterator[JudgmentRow]:
        """The domain's gold."""
        return self.counted("judgments", read_gold(self.version, domain))


def export_benchmark(
    *, benchmark: Benchmark, folder: Path, format: str, version: CorpusVersion | None = None
) -> dict[str, int]:
    """Write a new folder in one of FORMATS; how many rows of each kind it holds.

    `version` is what is written, by default the texts as they were loaded; of a version that a
    cleaning made its passages, the gold that they inherit and the runs that rank them.

    The folder is there wholly or not at all. Raises Refused for a folder that is taken, and for
    an id that the format has no room for.
    """
    if not is_free(folder):
        raise Refused(f"{folder} is not empty. Choose a folder that does not exist yet.")
    place = folder.parent / f".{folder.name}.exporting-{uuid4().hex[:8]}"
    place.mkdir(parents=True)
    try:
        with frozen():
            export = Export(place, version or CorpusVersion.objects.loaded(benchmark))
            domains = list(benchmark.domains.ready())
            for domain in domains:
                FORMATS[format](export, domain)
            _write_licences(export, format, domains)
            _write_runs(export, format, benchmark, domains)
            if format != "rankllm":
                _write_wordings(export, benchmark, domains)
        os.replace(place, folder)
    except ValueError as error:
        raise Refused(f"{error} Choose another format.") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return export.counts


def _beir(export: Export, domain: Domain) -> None:
    folder = export.place / file_name(domain.name)
    beir.write_queries(folder / "queries.jsonl", map(_with_all_fields, export.queries(domain)))
    beir.write_corpus(folder / "corpus.jsonl", export.passages(domain))
    gold = export.gold(domain)
    beir.write_qrels(folder / "qrels/test.tsv", gold)


def _with_all_fields(row: QueryRow) -> QueryRow:
    """BEIR has names for id and text alone; all else known of a query is in further fields."""
    return replace(row, extra=_given(row, NAMED))


def _given(row: QueryRow, names: Iterable[str]) -> dict[str, Any]:
    named = {name: value for name in names if (value := getattr(row, name)) is not None}
    return {**named, **(row.extra or {})}


def _bright(export: Export, domain: Domain) -> None:
    place, name = export.place, file_name(domain.name)
    gold = list(export.gold(domain))
    relevant: dict[str, list[str]] = {}
    for row in gold:
        if row.label > 0:
            relevant.setdefault(row.qid, []).append(row.pid)
    bright.write_queries(place / f"examples/{name}.jsonl", export.queries(domain), relevant)
    bright.write_qrels(place / f"qrels/{name}.txt", gold)
    bright.write_texts(place / f"documents/{name}.jsonl", export.passages(domain))
    pages = export.counted("pages", read_pages(export.version, domain))
    if not bright.write_texts(path := place / f"long_documents/{name}.jsonl", pages):
        path.unlink()  # an empty one would say that passages have pages


def _bright_pro(export: Export, domain: Domain) -> None:
    """JSON lists, with gold, aspects and reference answers as a release lists them: so that
    `[doc_3]` in an answer is the third of its `gold_ids`, and every gold passage has its aspect.
    Grades and labels of 0 stand in columns, as there."""
    place, name = export.place, file_name(domain.name)
    view = view_of(domain.benchmark, export.version)
    records = read_records(view, domain)
    by_qid = {each.qid: each for each in records}
    export.counts["judgments"] += sum(len(each.gold_ids) for each in records)
    rows = (
        _example(row, by_qid[row.qid], view.shape.integer_ids) for row in export.queries(domain)
    )
    write_list(place / f"examples/{name}.json", rows)
    beir.write_labels(place / f"beir/{name}", records)
    aspects = place / f"aspects/{name}.json"
    export.counts["aspects"] += bright_pro.write_aspect_list(aspects, name, records)
    pages = export.counted("pages", read_pages(export.version, domain))
    write_list(place / f"pages/{name}.json", map(bright.text_of, pages))
    texts = export.counted("passages", _passages(view.passages, domain))
    write_list(place / f"documents/{name}.json", map(bright.text_of, texts))


def _example(row: QueryRow, record: QueryRecord, integer_id: bool) -> dict[str, Any]:
    named = _given(replace(row, reference_answer=record.reference_answer or None), NAMED)
    qid = int(row.qid) if integer_id else row.qid
    return {"id": qid, "query": row.text or "", "gold_ids": record.gold_ids, **named}


def _trec(export: Export, domain: Domain) -> None:
    """Marked up where that can hold everything, else as JSON lines under the fields' names."""
    folder = export.place / file_name(domain.name)
    if domain.queries.exclude(text="").exists():
        asked = [_topic(row) for row in export.queries(domain)]
        _either(folder / "topics", lambda: asked, trec.write_topics, _topic_json)
    else:
        export.counts["queries"] += domain.queries.count()  # their judgments name them
    texts = partial(read_passages, export.version, domain)
    export.counts["passages"] += _either(
        folder / "documents", texts, trec.write_documents, _document_json
    )
    gold = export.gold(domain)
    trec.write_qrels(folder / "qrels.txt", gold)


def _topic(row: QueryRow) -> QueryRow:
    others = [name for name in NAMED if name not in ("description", "narrative")]
    return replace(row, text=row.text or "", extra=_given(row, others) or None)


def _either(
    stem: Path,
    rows: Callable[[], Iterable[Any]],
    write: Callable[[Path, Iterable[Any]], int],
    as_json: Callable[[Any], dict[str, Any]],
) -> int:
    path = stem.with_suffix(".txt")
    try:
        return write(path, map(_only_marked_up, rows()))
    except trec.Unwritable:
        path.unlink(missing_ok=True)
        return write_jsonl(stem.with_suffix(".jsonl"), map(as_json, rows()))


def _only_marked_up(row: Any) -> Any:
    if row.extra or getattr(row, "source_url", None) or getattr(row, "fetched_on", None):
        raise trec.Unwritable
    return row


def _topic_json(row: QueryRow) -> dict[str, Any]:
    parts = {"title": row.text, "description": row.description, "narrative": row.narrative}
    present = {name: value for name, value in parts.items() if value is not None}
    return {"qid": row.qid, **present, **(row.extra or {})}


def _document_json(row: PassageRow) -> dict[str, Any]:
    return {"docno": row.pid, "contents": row.text, **about(row), **(row.extra or {})}


def _write_licences(export: Export, format: str, domains: Iterable[Domain]) -> None:
    """Beside the data; of TREC in each folder, as a folder there is one domain."""
    named = {file_name(each.name): each for each in domains}
    licence = next((each.benchmark.licence for each in named.values()), "")
    if format == "trec":
        for name, domain in named.items():
            rows = [replace(row, domain="") for row in read_licences({name: domain})]
            write_licences(export.place / name, rows, licence, [""])
    else:
        write_licences(export.place, read_licences(named), licence, named)


def _write_runs(
    export: Export, format: str, benchmark: Benchmark, domains: Iterable[Domain]
) -> None:
    """`runs/{run}/{domain}.run`, or requests to rerank its first passages; two runs whose names
    become one file name get numbers."""
    taken: set[str] = set()
    key = export.version.key if export.version else None
    for run in RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).order_by("pk"):
        name = file_name(run.name)
        name = name if name.casefold() not in taken else f"{name}-{run.pk}"
        taken.add(name.casefold())
        for domain in domains:
            path = export.place / "runs" / name / f"{file_name(domain.name)}.run"
            if format == "rankllm":
                path = path.with_suffix(".jsonl")
                count = write_requests(
                    path, export.counted("rankings", export.requests(run, domain))
                )
            else:
                count = trec.write_run(path, export.counted("rankings", read_rankings(run, domain)))
            if not count:
                path.unlink()


def _write_wordings(export: Export, benchmark: Benchmark, domains: Iterable[Domain]) -> None:
    """`wordings/{source}/{domain}.jsonl`: the queries in other words, as they are read again."""
    taken: set[str] = set()
    for source in benchmark.query_sources.order_by("pk"):
        name = file_name(source.name)
        name = name if name.casefold() not in taken else f"{name}-{source.pk}"
        taken.add(name.casefold())
        for domain in domains:
            rows = source.wordings.filter(query__domain=domain).order_by("pk")
            found = rows.values_list("query__qid", "text").iterator(chunk_size=CHUNK)
            told = (
                {"source": source.name, "id": qid, "query": text}
                for qid, text in export.counted("wordings", found)
            )
            path = export.place / "wordings" / name / f"{file_name(domain.name)}.jsonl"
            if not write_jsonl(path, told):
                path.unlink()


def file_name(name: str) -> str:
    """A domain's or run's name as a file may bear it on any system."""
    return name if _PLAIN.fullmatch(name) else split_name(name)


def _rankllm(export: Export, domain: Domain) -> None:
    """The gold alone: queries and texts stand in the requests."""
    trec.write_qrels(export.place / f"qrels/{file_name(domain.name)}.txt", export.gold(domain))


FORMATS: dict[str, Callable[[Export, Domain], None]] = {
    "beir": _beir,
    "bright": _bright,
    "bright_pro": _bright_pro,
    "rankllm": _rankllm,
    "trec": _trec,
}
