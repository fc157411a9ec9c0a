"""Answers in and out, in the shapes of TREC RAG, RAGTIME and NeuCLIR."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction

from corpus.lists import unused_name
from corpus.models import Benchmark, CorpusVersion, Query
from evaluation.support.models import SetKind, SupportSet
from evaluation.support.protocol.shapes import SHAPES, Record, ShapeFault, read_record, written
from evaluation.support.services import store_split
from evaluation.support.splitting import Split, Written, passages, splits
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
    queries = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True)
    if domain:
        queries = queries.filter(domain__name=domain)
    by_qid: dict[str, list[Query]] = {}
    for query in queries.select_related("domain").order_by("pk"):
        by_qid.setdefault(query.qid, []).append(query)
    rows: list[tuple[int, Query, Record]] = []
    seen: dict[tuple[str, int], int] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = read_record(_parsed(line))
            query = _query_of(record, by_qid)
            earlier = seen.setdefault((record.run_id, query.pk), number)
            if earlier != number:
                raise ShapeFault(
                    f"{record.run_id!r} has answered {record.topic!r} in line {earlier}."
                )
            rows.append((number, query, record))
        except ShapeFault as fault:
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
        for number, query, record in rows:
            text = " ".join(sentence for sentence, _ in record.sentences)
            told = Written(query, record.run_id[:220], f"line:{number}", text, key)
            store_split(of, Split(told, record.sentences, known[key, query.domain_id]))
        audit.record(
            actor=actor, verb="import answers", target=of, scope=benchmark.slug,
            data={"answers": len(rows), "blank sentences": of.blank},
        )  # fmt: skip
    return of


def export_answers(of: SupportSet, *, shape: str) -> Iterator[dict[str, Any]]:
    """The answers of a set, stored or not, in a shape; references are what a system retrieved,
    where that is known, and what its answer cites."""
    if shape not in SHAPES:
        raise Refused(f"The shapes are {', '.join(SHAPES)}.", field="shape")
    is_manual = of.kind == SetKind.REFERENCE
    if of.is_split:
        rows = of.answers.select_related("query").order_by("pk").iterator(chunk_size=200)
        found: Iterator[tuple[str, Query, Record]] = (
            (each.origin, each.query,
             Record(each.system, each.query.qid, tuple((t, tuple(c)) for t, c in each.sentences)))
            for each in rows
        )  # fmt: skip
    else:
        found = ((each.written.origin, each.written.query, each.record) for each in splits(of))
    given = dict(of.rag_run.answers.values_list("pk", "passages")) if of.rag_run else {}
    for origin, query, record in found:
        yield written(
            record,
            shape=shape,
            question=query.text,
            retrieved=given.get(int(origin.partition(":")[2]), ()) if given else (),
            is_manual=is_manual,
        )


def _parsed(line: str) -> Any:
    if len(line) > _LONGEST:
        raise ShapeFault("The record is far too long.")
    try:
        return json.loads(line)
    except ValueError as fault:
        raise ShapeFault(f"This is not JSON: {fault}.") from None
    except RecursionError:
        raise ShapeFault("This is nested too deeply.") from None


def _query_of(record: Record, queries: dict[str, list[Query]]) -> Query:
    found = queries.get(record.topic, [])
    if not found:
        raise ShapeFault(f"There is no query {record.topic!r} here.")
    if len(found) > 1:
        raise ShapeFault(f"Query {record.topic!r} is in several domains; choose one.")
    return found[0]
