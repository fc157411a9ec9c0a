"""The labels in every file that repeats them: qrels, BEIR, BRIDGE, subtopics, gold of queries."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import Label
from evaluation.exporters.trec import VIEWS, View
from evaluation.verification.rows import Pair, Report, columns, objects, subtopic_labels_of

Labels = Mapping[Pair, Label]
Support = tuple[str, str, str]
TWICE = "it stands there twice"
WITHOUT_TEXT = "is gold and not in documents"


def check_copies(
    folder: Path,
    split: str,
    labels: Labels,
    supports: Collection[Support],
    decomposed: Collection[str],
    report: Report,
) -> None:
    """Every row of these files that the labels do not give, and every label they leave out.

    `supports` are (query, number of the aspect, passage), `decomposed` the queries with aspects.
    A 0 is expected only for passages in documents: one that an expert collected and discarded again
    is in no file but the evidence.
    """
    gold = _released_gold(folder / f"examples/{split}.parquet")
    asked = {pid for _, pid in labels}.union(*(pids for _, pids in gold))
    documents = _present(folder / f"documents/{split}.parquet", asked)
    files = [(f"qrels/{split}.{name}.txt", " ", view) for name, view in VIEWS.items()]
    if (folder / (beir := f"beir/{split}/qrels/test.tsv")).is_file():
        files.append((beir, "\t", VIEWS["expert"]))
    for name, separator, view in files:
        _check_qrels(folder, name, separator, view, labels, documents, report)
    _check_bridge(folder, f"bridge/{split}.jsonl", labels, report)
    _check_subtopics(folder, f"qrels/{split}.aspects.txt", labels, supports, report)
    _check_imported(folder, split, labels, report)
    expected = _gold(labels, supports, decomposed)
    _check_gold(f"examples/{split}.parquet", gold, expected, documents, report)


def _check_qrels(
    folder: Path,
    name: str,
    separator: str,
    view: View,
    labels: Labels,
    documents: Collection[str],
    report: Report,
) -> None:
    published: dict[Pair, int] = {}
    for row in columns(folder, name, report, separator=separator):
        pair = (row[0], row[-2])
        if pair in published:
            report.add(name, TWICE, *pair)
        published[pair] = int(row[-1])
    for pair, value in published.items():
        expected = view(labels[pair]) if pair in labels else None
        if expected != value:
            shown = "nothing" if expected is None else expected
            report.add(name, f"it says {value}, the labels {shown}", *pair)
    for pair, label in labels.items():
        expected = view(label)
        if expected is None or pair in published or not all(map(fits_trec, pair)):
            continue
        if expected > 0 or pair[1] in documents:
            report.add(name, f"the labels say {expected}, it says nothing", *pair)


def _check_bridge(folder: Path, name: str, labels: Labels, report: Report) -> None:
    """BRIDGE lists the refined positives of each query."""
    if not (folder / name).is_file():
        return
    listed: set[Pair] = set()
    known: set[str] = set()
    for row in objects(folder, name, report, q_id=str, doc_id=list):
        if row["q_id"] in known:
            report.add(name, TWICE, row["q_id"])
        known.add(row["q_id"])
        listed |= {(row["q_id"], str(pid)) for pid in row["doc_id"]}
    expected = {pair for pair, label in labels.items() if label.refined > 0}
    for pair in sorted(listed - expected):
        report.add(name, "is relevant there, not by the labels", *pair)
    for pair in sorted(expected - listed):
        report.add(name, "is relevant by the labels, and not there", *pair)


def _check_subtopics(
    folder: Path, name: str, labels: Labels, supports: Collection[Support], report: Report
) -> None:
    """Each accepted passage under the number of its aspect."""
    listed: set[Support] = set()
    if (folder / name).is_file():
        for qid, k, pid, value in columns(folder, name, report, separator=" "):
            if (qid, k, pid) in listed:
                report.add(name, TWICE, qid, pid)
            listed.add((qid, k, pid))
            if value != "1":
                report.add(name, f"it says {value} of aspect {k}, not 1", qid, pid)
    accepted = {pair for pair, label in labels.items() if label.expert > 0}
    expected = {
        (qid, k, pid)
        for qid, k, pid in supports
        if (qid, pid) in accepted and fits_trec(qid) and fits_trec(pid)
    }
    for qid, k, pid in sorted(listed - expected):
        report.add(name, f"it stands under aspect {k}, not by aspects and labels", qid, pid)
    for qid, k, pid in sorted(expected - listed):
        report.add(name, f"it does not stand under aspect {k}", qid, pid)


def _check_imported(folder: Path, split: str, labels: Labels, report: Report) -> None:
    """Of imported labels of subtopics the highest is the label of the original gold; aspects say
    the same of their subtopics."""
    name, beside = f"qrels/{split}.subtopics.txt", f"aspects/{split}.parquet"
    if not (folder / name).is_file():
        return
    highest: dict[Pair, int] = {}
    known: dict[Support, int] = {}
    for qid, subtopic, pid, value in columns(folder, name, report, separator=" "):
        if (qid, subtopic, pid) in known:
            report.add(name, TWICE, qid, pid)
        known[qid, subtopic, pid] = int(value)
        highest[qid, pid] = max(highest.get((qid, pid), int(value)), int(value))
    for qid, subtopic, pid, label in subtopic_labels_of(folder / beside, split):
        if all(map(fits_trec, (qid, subtopic, pid))) and known.get((qid, subtopic, pid)) != label:
            report.add(beside, f"it says {label} of {subtopic}, {name} does not", qid, pid)
    for pair, found in highest.items():
        base = labels[pair].base if pair in labels else None
        if base != found:
            shown = "nothing" if base is None else base
            report.add(name, f"its highest label is {found}, the original gold says {shown}", *pair)


def _gold(
    labels: Labels, supports: Collection[Support], decomposed: Collection[str]
) -> dict[str, set[str]]:
    """By query the union of its aspects, else its positives in the expert view."""
    gold: dict[str, set[str]] = defaultdict(set)
    for qid, _, pid in supports:
        gold[qid].add(pid)
    for (qid, pid), label in labels.items():
        if label.expert > 0 and qid not in decomposed:
            gold[qid].add(pid)
    return gold


def _released_gold(path: Path) -> list[tuple[str, set[str]]]:
    if not path.is_file():
        return []
    rows = pq.read_table(path, columns=["id", "gold_ids"]).to_pylist()
    return [(str(row["id"]), set(row["gold_ids"] or ())) for row in rows]


def _present(path: Path, asked: Collection[str]) -> set[str]:
    """Those of the ids that are in documents: the others are never made texts of Python's."""
    if not path.is_file():
        return set()
    wanted = pa.array(asked, pa.string())
    ids = pq.read_table(path, columns=["id"])["id"]
    return set(ids.filter(pc.is_in(ids, wanted)).to_pylist())


def _check_gold(
    name: str,
    released: Sequence[tuple[str, set[str]]],
    expected: Mapping[str, set[str]],
    documents: Collection[str],
    report: Report,
) -> None:
    for qid, gold in released:
        for pid in sorted(gold ^ expected.get(qid, set())):
            words = "is gold there, not by the labels" if pid in gold else "is gold by the labels"
            report.add(name, words, qid, pid)
        for pid in sorted(gold.difference(documents)):
            report.add(name, WITHOUT_TEXT, qid, pid)
