"""Reference answers, their prompts and second reviews, against what the release says of them.

The chain of votes of a release (evaluation/exporters/votes.py), followed again."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evaluation.exporters.bright_pro import MACHINE
from evaluation.exporters.chain import FILE as CHAIN
from evaluation.exporters.chain import input_digest
from evaluation.exporters.votes import FILE, link_of, voted_rows
from evaluation.verification.rows import UNREADABLE, Report, objects

_ALTERED = "its votes are not those that the chain of votes was made of"


def check_votes(folder: Path, splits: Sequence[str], report: Report) -> None:
    """Every label with votes has its link, which follows from the one before, and the card names
    the last one. Older releases have no chain."""
    found = _voted(folder, splits)
    if not (folder / FILE).is_file():
        if any("head" in row for rows in found.values() for row in rows):
            report.add(FILE, "the file is not there")
        return
    end = ""
    texts: dict[str, type] = {"split": str, "query_id": str, "passage_id": str, "link": str}
    for line in objects(folder, FILE, report, **texts):
        split, qid, pid = line["split"], line["query_id"], line["passage_id"]
        rows = found[split, qid, pid]
        if not rows:
            report.add(FILE, "the evidence has no votes on it", qid, pid)
        elif line["link"] != link_of(end, split, rows.pop(0)):
            report.add(FILE, _ALTERED, qid, pid)
        end = line["link"]
    for (_, qid, pid), rows in found.items():
        if rows:
            report.add(FILE, "the chain of votes leaves its votes out", qid, pid)
    report.votes = end
    if end not in (folder / "README.md").read_text("utf-8", "replace"):
        report.add("README.md", f"it does not name the end of the chain of votes, {end}")


def _voted(folder: Path, splits: Sequence[str]) -> dict[tuple[str, str, str], list[Any]]:
    """The labels with votes by split, query and passage, each as often as the evidence has it."""
    found: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for split in splits:
        own = (f"evidence/{split}.jsonl", f"carried/{split}.jsonl")
        for name in (*own, f"evidence/{MACHINE}/{split}.jsonl"):
            if (folder / name).is_file():
                # What is no row of evidence is named where labels are derived.
                for line in objects(folder, name, Report(), query_id=str, passage_id=str):
                    for row in voted_rows(line):
                        found[split, row["query_id"], row["passage_id"]].append(row)
    return found


PROMPTS = "evidence/prompts"


def check_answers(folder: Path, split: str, report: Report) -> None:
    """Every published answer has its origin with the hash of its text; one that a model wrote has
    the model and the hash of its prompt. Older releases have no such file."""
    name, table = f"evidence/answers/{split}.jsonl", folder / f"examples/{split}.parquet"
    if not (folder / name).is_file():
        return
    published: dict[str, str] = {}
    if table.is_file():
        for row in pq.read_table(table, columns=["id", "reference_answer"]).to_pylist():
            if row["reference_answer"]:
                published[str(row["id"])] = row["reference_answer"]
    known: set[str] = set()
    for row in objects(folder, name, report, query_id=str, text_sha256=str, author=str):
        qid = row["query_id"]
        known.add(qid)
        if row["text_sha256"] != _sha256(published.get(qid, "").encode()):
            report.add(name, "its answer is another than the one published", qid)
        if row["author"] == "model" and not (row.get("model") and row.get("prompt_sha256")):
            report.add(name, "a model's answer without its model or the hash of its prompt", qid)
    for qid in sorted(published.keys() - known):
        report.add(name, "it does not say where this answer comes from", qid)


def check_prompts(folder: Path, report: Report) -> None:
    """The prompts in the release are each under its hash.

    Earlier prompts than the app's present one are not in it: their hash cannot be checked.
    """
    for path in sorted((folder / PROMPTS).glob("*.txt")):
        if _sha256(path.read_bytes()) != path.stem:
            report.add(f"{PROMPTS}/{path.name}", "its text has another hash than its name")


def check_chain(folder: Path, report: Report) -> None:
    """Each step of a chain was given what its input's hash says: its settings, and the outputs of
    those before it. Steps of older releases, which do not hold all of that, are passed over."""
    if not (folder / CHAIN).is_file():
        return
    try:
        told = json.loads((folder / CHAIN).read_text("utf-8"))
        made = {name: of.get("assay:sha256") for name, of in told["entity"].items()}
        for name, step in told["activity"].items():
            number = int(name.rpartition("-")[2])
            before = [str(made.get(f"assay:output-{n}") or "") for n in range(number)]
            settings, given = step.get("assay:settings"), step.get("assay:input_sha256")
            if settings is None or not given or not all(before):
                continue
            if input_digest(step["prov:label"], settings, before) != given:
                words = "its settings and the outputs before it have another hash than its input"
                report.add(f"{CHAIN}, {name.partition(':')[2]}", words)
    except UNREADABLE as error:
        report.add(CHAIN, f"the file cannot be read: {error}")


def check_reviews(folder: Path, split: str, report: Report) -> None:
    """Nobody reviews or settles their own work, and labels name the reviews that are here."""
    name, evidence = f"evidence/reviews/{split}.jsonl", f"evidence/{split}.jsonl"
    reviews: dict[tuple[str, str], Any] = {}
    if (folder / name).is_file():
        for row in objects(folder, name, report, query_id=str, reviewer=str, points=list):
            people = [row[part] for part in ("author", "reviewer", "third") if part in row]
            if len(set(people)) < len(people):
                report.add(name, "one person has two parts in a review", row["query_id"])
            for point in row["points"]:
                if "passage_id" in point:
                    found = {"reviewer": row["reviewer"], "status": point["status"]}
                    reviews[row["query_id"], point["passage_id"]] = found
    # What is no row of evidence is named where labels are derived.
    for row in objects(folder, evidence, Report(), query_id=str, passage_id=str):
        pair = (row["query_id"], row["passage_id"])
        if "review" in row and row["review"] != reviews.get(pair):
            report.add(evidence, "its review is not what the reviews say of it", *pair)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
