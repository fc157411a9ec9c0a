"""The labels in every file that repeats them: qrels, BEIR, BRIDGE, subtopics, gold of queries."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq

from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import Label
from evaluation.exporters.trec import VIEWS
from evaluation.verification.rows import Difference, Pair, columns, objects

Labels = Mapping[Pair, Label]
Support = tuple[str, str, str]
TWICE = "it stands there twice"


def check_copies(
    folder: Path,
    split: str,
    labels: Labels,
    supports: Collection[Support],
    decomposed: Collection[str],
) -> Iterator[Difference]:
    """Every row of these files that the labels do not give, and every label they leave out.

    `supports` are (query, number of the aspect, passage), `decomposed` the queries with aspects.
    A 0 is wanted only for passages in documents: one that an expert collected and discarded again
    is in no file but the evidence.
    """
    documents = set(_column(folder / f"documents/{split}.parquet", "id"))
    for view, read in VIEWS.items():
        name = f"qrels/{split}.{view}.txt"
        yield from _labels(folder, name, " ", labels, read, documents)
    beir = f"beir/{split}/qrels/test.tsv"
    if (folder / beir).is_file():
        yield from _labels(folder, beir, "\t", labels, VIEWS["expert"], documents)
    yield from _bridge(folder, f"bridge/{split}.jsonl", labels)
    yield from _subtopics(folder, f"qrels/{split}.aspects.txt", labels, supports)
    yield from _gold(folder, split, labels, supports, decomposed, documents)


def _labels(
    folder: Path,
    name: str,
    apart: str,
    labels: Labels,
    read: Callable[[Label], int | None],
    documents: Collection[str],
) -> Iterator[Difference]:
    faults: list[Difference] = []
    published: dict[Pair, int] = {}
    for row in columns(folder, name, faults, apart=apart):
        pair = (row[0], row[-2])
        if pair in published:
            yield Difference(name, TWICE, *pair)
        published[pair] = int(row[-1])
    yield from faults
    for pair, value in published.items():
        label = labels.get(pair)
        wanted = None if label is None else read(label)
        if wanted != value:
            said = "nothing" if wanted is None else wanted
            yield Difference(name, f"it says {value}, the labels {said}", *pair)
    for pair, label in labels.items():
        wanted = read(label)
        if wanted is None or pair in published or not all(map(fits_trec, pair)):
            continue
        if wanted > 0 or pair[1] in documents:
            yield Difference(name, f"the labels say {wanted}, it says nothing", *pair)


def _bridge(folder: Path, name: str, labels: Labels) -> Iterator[Difference]:
    """BRIDGE lists the refined positives of each query."""
    if not (folder / name).is_file():
        return
    faults: list[Difference] = []
    listed: set[Pair] = set()
    known: set[str] = set()
    for row in objects(folder, name, faults, q_id=str, doc_id=list):
        if row["q_id"] in known:
            yield Difference(name, TWICE, row["q_id"])
        known.add(row["q_id"])
        listed |= {(row["q_id"], str(pid)) for pid in row["doc_id"]}
    yield from faults
    relevant = {pair for pair, label in labels.items() if label.refined > 0}
    yield from _uneven(name, listed, relevant)


def _subtopics(
    folder: Path, name: str, labels: Labels, supports: Collection[Support]
) -> Iterator[Difference]:
    """Each accepted passage under the number of its aspect."""
    faults: list[Difference] = []
    listed: set[Support] = set()
    if (folder / name).is_file():
        for qid, k, pid, value in columns(folder, name, faults, apart=" "):
            if (qid, k, pid) in listed:
                yield Difference(name, TWICE, qid, pid)
            listed.add((qid, k, pid))
            if value != "1":
                yield Difference(name, f"it says {value} of aspect {k}, not 1", qid, pid)
    yield from faults
    wanted = {
        (qid, k, pid)
        for qid, k, pid in supports
        if fits_trec(qid) and fits_trec(pid) and _is_accepted(labels.get((qid, pid)))
    }
    for qid, k, pid in sorted(listed - wanted):
        yield Difference(name, f"it stands under aspect {k}, not by aspects and labels", qid, pid)
    for qid, k, pid in sorted(wanted - listed):
        yield Difference(name, f"it does not stand under aspect {k}", qid, pid)


def _is_accepted(label: Label | None) -> bool:
    return label is not None and label.expert > 0


def _uneven(name: str, listed: set[Pair], wanted: set[Pair]) -> Iterator[Difference]:
    for pair in sorted(listed - wanted):
        yield Difference(name, "is relevant there, not by the labels", *pair)
    for pair in sorted(wanted - listed):
        yield Difference(name, "is relevant by the labels, and not there", *pair)


def _gold(
    folder: Path,
    split: str,
    labels: Labels,
    supports: Collection[Support],
    decomposed: Collection[str],
    documents: Collection[str],
) -> Iterator[Difference]:
    """`gold_ids` are the union of a query's aspects, else its positives in the expert view."""
    name = f"examples/{split}.parquet"
    positive: dict[str, set[str]] = {}
    for (qid, pid), label in labels.items():
        if label.expert > 0:
            positive.setdefault(qid, set()).add(pid)
    supported: dict[str, set[str]] = {}
    for qid, _, pid in supports:
        supported.setdefault(qid, set()).add(pid)
    if not (folder / name).is_file():
        return
    for row in pq.read_table(folder / name, columns=["id", "gold_ids"]).to_pylist():
        qid, gold = str(row["id"]), set(row["gold_ids"] or ())
        wanted = supported.get(qid, set()) if qid in decomposed else positive.get(qid, set())
        for pid in sorted(gold ^ wanted):
            words = "is gold there, not by the labels" if pid in gold else "is gold by the labels"
            yield Difference(name, words, qid, pid)
        for pid in sorted(gold.difference(documents)):
            yield Difference(name, "is gold and not in documents", qid, pid)


def _column(path: Path, name: str) -> Iterable[str]:
    if not path.is_file():
        return ()
    return pq.read_table(path, columns=[name]).column(name).to_pylist()
