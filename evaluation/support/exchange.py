"""Answers in and out, in the shapes of TREC RAG, RAGTIME and NeuCLIR."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count

from corpus.imports.context import chunks
from corpus.lists import unused_name
from corpus.models import Benchmark, CorpusVersion, Passage, Query
from evaluation.agents.exchange import parsed, queries_by_id
from evaluation.agents.protocol.records import RecordFault
from evaluation.support.models import SetKind, SupportedAnswer, SupportSet
from evaluation.support.protocol.shapes import (
    SHAPES,
    Record,
    ShapeFault,
    beyond,
    cited_in,
    read_record,
    written,
)
from evaluation.support.services import store_splits
from evaluation.support.splitting import passages, splits
from kit import audit
from kit.errors import Refused

_MOST_NAMED: Final = 20
MOST_ANSWERS: Final = 20_000
_LONGEST: Final = 5_000_000


def import_answers(
    *,
    benchmark: Benchmark,
    lines: Iterable[str],
    name: str,
    actor: User | None,
    domain: str = "",
    per_sentence: int | None = None,
) -> SupportSet:
    """Answers of other programs, one JSON record a line: all of them or none.

    Their topics are queries here. Ids that name no passage of the query's domain stay, and support
    nothing. Blank sentences are left out and counted (`blank` of the set). Raises Refused with line
    and field of every fault.
    """
    queries = queries_by_id(benchmark, domain)
    rows: list[tuple[int, Query, Record]] = []
    seen: dict[tuple[str, int], int] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = parsed(line, _LONGEST)
            if isinstance(data, RecordFault):
                raise data
            record = read_record(data)
            query = _query_of(record, queries)
            earlier = seen.setdefault((record.run_id, query.pk), number)
            if earlier != number:
                raise ShapeFault(
                    f"{record.run_id!r} has answered {record.topic!r} in line {earlier}."
                )
            rows.append((number, query, record))
        except RecordFault as fault:
            faults.append(f"Line {number}: {fault}")
            if len(faults) == _MOST_NAMED:
                break
        if len(rows) > MOST_ANSWERS:
            raise Refused(f"Import {MOST_ANSWERS:,} answers at most at once.", field="file")
    if faults:
        raise Refused("\n".join(faults), field="file")
    if not rows:
        raise Refused("The file holds no answer.", field="file")
    version = CorpusVersion.objects.current(benchmark)
    key = version.key if version else None
    named: dict[tuple[int | None, int], set[str]] = {}
    for _, query, record in rows:
        cited = {pid for _, own in record.sentences for pid in own}
        named.setdefault((key, query.domain_id), set()).update(cited)
    known = passages(benchmark, named)
    taken = set(benchmark.support_sets.values_list("name", flat=True))
    with transaction.atomic():
        of = SupportSet.objects.create(
            benchmark=benchmark,
            kind=SetKind.IMPORT,
            name=unused_name(name.strip()[:190] or "imported answers", taken),
            per_sentence=per_sentence,
            is_split=True,
            blank=sum(record.blank for _, _, record in rows),
        )
        made = [
            SupportedAnswer(
                support_set=of,
                query=query,
                system=record.run_id[:220],
                origin=f"line:{number}",
                text=" ".join(sentence for sentence, _ in record.sentences),
                sentences=record.sentences,
            )
            for number, query, record in rows
        ]
        store_splits([(each, known[key, each.query.domain_id]) for each in made])
        audit.record(
            actor=actor, verb="import answers", target=of, scope=benchmark.slug,
            data={"answers": len(rows), "blank sentences": of.blank},
        )  # fmt: skip
    return of


def export_answers(of: SupportSet, *, shape: str) -> Iterator[dict[str, Any]]:
    """The answers of a set in a shape, as they are read: `references` are what a system retrieved,
    where that is known, and what its answer cites."""
    if shape not in SHAPES:
        raise Refused(f"The shapes are {', '.join(SHAPES)}.", field="shape")
    return (record for _, record in _records(of, shape))


def check_limits(of: SupportSet, *, shape: str, anyway: bool = False) -> list[str]:
    """What in the export is beyond the limits of its track, by line, where its checker warns.

    Raises Refused with the lines for which the track refuses a file; `anyway` they are warned of.
    """
    refused, warned = list[str](), list[str]()
    for part in chunks(enumerate(_records(of, shape), start=1)):
        cited: dict[int, set[str]] = {}
        for _, (query, record) in part:
            cited.setdefault(query.domain_id, set()).update(cited_in(record))
        known = {domain: _known(domain, pids) for domain, pids in cited.items()}
        for number, (query, record) in part:
            for words, is_refused in beyond(record, shape, known[query.domain_id]):
                where = refused if is_refused and not anyway else warned
                where.append(f"Line {number}: {words}")
    if refused:
        named, more = refused[:_MOST_NAMED], len(refused) - _MOST_NAMED
        rest = [f"and {more:,} more"] if more > 0 else []
        told = [f"{shape} takes no file with these; ask for it anyway to have it.", *named, *rest]
        raise Refused("\n".join(told), field="shape")
    return warned


def _known(domain: int, pids: set[str]) -> set[str]:
    rows = Passage.objects.filter(domain=domain)
    return {pid for some in chunks(pids) for pid in
            rows.filter(pid__in=some).values_list("pid", flat=True)}  # fmt: skip


def _records(of: SupportSet, shape: str) -> Iterator[tuple[Query, dict[str, Any]]]:
    rows: Iterable[SupportedAnswer] = (
        of.answers.select_related("query__domain").order_by("pk").iterator(chunk_size=200)
        if of.is_split
        else (answer for answer, _ in splits(of))
    )
    shared = _shared_ids(of.benchmark)
    given = dict(of.rag_run.answers.values_list("pk", "passages")) if of.rag_run else {}
    for each in rows:
        sentences = tuple((text, tuple(cited)) for text, cited in each.sentences)
        qid = each.query.qid
        topic = f"{each.query.domain.name}/{qid}" if qid in shared else qid
        record = written(
            Record(each.system, topic, sentences),
            shape=shape,
            question=each.query.text,
            retrieved=given.get(int(each.origin.partition(":")[2]), ()) if given else (),
            is_manual=of.kind == SetKind.REFERENCE,
        )
        yield each.query, record


def _shared_ids(benchmark: Benchmark) -> set[str]:
    """Ids that queries of several domains have: by these alone a file would hold a topic twice, and
    no import could tell which is meant."""
    rows = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True).order_by()
    several = rows.values("qid").annotate(queries=Count("pk")).filter(queries__gt=1)
    return set(several.values_list("qid", flat=True))


def _query_of(record: Record, queries: dict[str, list[Query]]) -> Query:
    found = queries.get(record.topic, [])
    if not found:
        raise ShapeFault(f"There is no query {record.topic!r} here.")
    if len(found) > 1:
        raise ShapeFault(
            f"Query {record.topic!r} is in several domains; choose one, or write its topic as "
            "domain/id."
        )
    return found[0]
