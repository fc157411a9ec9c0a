"""Faults that the records of one split show by themselves; each check yields its places."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotate.answers.citing import foreign_citations
from evaluation.exporters.faults import Fault, Place, fault
from evaluation.exporters.names import aspect_id, fits_trec
from evaluation.exporters.records import QueryRecord

Check = Callable[[str, Sequence[QueryRecord]], Iterator[Place]]


def find_faults(split: str, queries: Sequence[QueryRecord]) -> list[Fault]:
    """Every fault of one split that its records show; checks without a place are left out."""
    found = [fault(check, find(split, queries)) for check, find in CHECKS.items()]
    return [each for each in found if each.count]


def _practice_labels(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for label in query.labels:
            if label.practice:
                yield _place(split, query, passage=label.passage, passage_pk=label.passage_pk)


def _gold_without_text(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    # A passage counts once, however many queries it is gold for.
    seen: set[str] = set()
    for query in queries:
        gold = set(query.gold_ids) | set(query.relevant)
        for label in query.labels:
            if label.passage in gold and not label.loaded and label.passage not in seen:
                seen.add(label.passage)
                yield _place(split, query, passage=label.passage, passage_pk=label.passage_pk)


def _gold_without_aspect(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for pid in sorted(set(query.accepted) - set(query.gold_ids)):
            yield _place(split, query, passage=pid)


def _support_not_relevant(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        refused = {each.passage for each in query.labels if each.expert <= 0}
        for pid in sorted(refused.intersection(query.supporting)):
            yield _place(split, query, passage=pid)


def _support_without_label(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for pid in sorted(set(query.supporting) - {each.passage for each in query.labels}):
            yield _place(split, query, passage=pid)


def _two_aspects(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        times = Counter(pid for aspect in query.aspects for pid in set(aspect.passages))
        for pid in sorted(pid for pid, count in times.items() if count > 1):
            yield _place(split, query, passage=pid)


def _foreign_citations(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    known = {label.passage for query in queries for label in query.labels}
    known |= {pid for query in queries for pid in query.supporting}
    for query in queries:
        if query.reference_answer:
            names = known | query.cited
            for cited in foreign_citations(query.reference_answer, query.gold_ids, names):
                if cited not in query.uncarried_citations:
                    yield _place(split, query, passage=cited)


def _uncarried_citations(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for cited in query.uncarried_citations:
            yield _place(split, query, passage=cited)


def _practice_answers(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        if query.practice_answer:
            yield _place(split, query)


def _aspects_without_passages(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for aspect in query.aspects:
            if not aspect.passages:
                yield _place(split, query, aspect=aspect_id(split, query.qid, aspect.k))


def _empty_aspects(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for aspect in query.aspects:
            if not aspect.content.strip():
                yield _place(split, query, aspect=aspect_id(split, query.qid, aspect.k))


def _unweighed_aspects(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        for aspect in query.aspects:
            if not aspect.weighed:
                yield _place(split, query, aspect=aspect_id(split, query.qid, aspect.k))


def _mixed_scales(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        if len({aspect.scale for aspect in query.aspects}) > 1:
            yield _place(split, query)


def _queries_without_gold(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        if not query.gold_ids:
            yield _place(split, query)


def _white_space_in_ids(split: str, queries: Sequence[QueryRecord]) -> Iterator[Place]:
    for query in queries:
        if not fits_trec(query.qid):
            yield _place(split, query)
    seen: set[str] = set()
    for query in queries:
        for label in query.labels:
            if not fits_trec(label.passage) and label.passage not in seen:
                seen.add(label.passage)
                yield _place(split, query, passage=label.passage, passage_pk=label.passage_pk)


def _place(split: str, query: QueryRecord, **more: Any) -> Place:
    return {"split": split, "query": query.qid, "query_pk": query.pk, **more}


CHECKS: dict[str, Check] = {
    "practice_labels": _practice_labels,
    "practice_answers": _practice_answers,
    "gold_without_text": _gold_without_text,
    "gold_without_aspect": _gold_without_aspect,
    "support_not_relevant": _support_not_relevant,
    "support_without_label": _support_without_label,
    "two_aspects": _two_aspects,
    "foreign_citations": _foreign_citations,
    "uncarried_citations": _uncarried_citations,
    "aspects_without_passages": _aspects_without_passages,
    "empty_aspects": _empty_aspects,
    "unweighed_aspects": _unweighed_aspects,
    "mixed_scales": _mixed_scales,
    "queries_without_gold": _queries_without_gold,
    "white_space_in_ids": _white_space_in_ids,
}
