"""The chain of votes of a release (evaluation/exporters/votes.py), followed again."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.exporters.votes import FILE, link_of, voted_rows
from evaluation.verification.rows import Report, objects

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
        for name in (f"evidence/{split}.jsonl", f"carried/{split}.jsonl"):
            if (folder / name).is_file():
                # What is no row of evidence is named where labels are derived.
                for line in objects(folder, name, Report(), query_id=str, passage_id=str):
                    for row in voted_rows(line):
                        found[split, row["query_id"], row["passage_id"]].append(row)
    return found
