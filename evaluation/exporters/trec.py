"""TREC qrels of all three views: `qid 0 docid rel`, labels of 0 included (docs/protocol.md 2.7).

A pair that was judged not relevant is not the same as an unjudged one, so its 0 is written.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evaluation.exporters.files import write_lines
from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import Label, QueryRecord

# What a view says of a pair; None where it knows nothing of it.
View = Callable[[Label], int | None]
VIEWS: dict[str, View] = {
    "base": lambda label: label.base,
    "refined": lambda label: label.refined,
    "expert": lambda label: label.expert,
}


def write_qrels(path: Path, queries: Sequence[QueryRecord], view: View) -> int:
    """One line per pair that the view knows."""
    return write_lines(path, _lines(queries, view))


def _lines(queries: Sequence[QueryRecord], view: View) -> Iterator[str]:
    for query in fitting(queries):
        for label in query.labels:
            value = view(label)
            if value is not None and fits_trec(label.passage):
                yield f"{query.qid} 0 {label.passage} {value}"


def fitting(queries: Sequence[QueryRecord]) -> Iterator[QueryRecord]:
    """Queries whose id can stand in the format; the others are a fault of the release."""
    return (query for query in queries if fits_trec(query.qid))


def write_subtopics(path: Path, queries: Sequence[QueryRecord]) -> int:
    """`qid aspect docid 1`: subtopic qrels as ndeval and ir_measures read them.

    The aspect's number stands where plain qrels have 0. Only passages of the expert view's gold;
    no file where no aspect is supported.
    """
    lines = list(_subtopics(queries))
    return write_lines(path, lines) if lines else 0


def _subtopics(queries: Sequence[QueryRecord]) -> Iterator[str]:
    for query in fitting(queries):
        accepted = set(query.accepted)
        for aspect in query.aspects:
            for pid in aspect.passages:
                if pid in accepted and fits_trec(pid):
                    yield f"{query.qid} {aspect.k} {pid} 1"
