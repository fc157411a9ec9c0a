"""Reference answers against what the release says of their making."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from evaluation.verification.rows import Difference, objects

PROMPTS = "evidence/prompts"
_MADE = ("model", "prompt_sha256")


def check_answers(folder: Path, split: str) -> Iterator[tuple[str, str, str]]:
    """(file, what does not hold, query) of each answer of a split.

    Every published answer has its origin with the hash of its text; one that a model wrote has
    the model and the hash of its prompt. Releases of before have no such file.
    """
    name, table = f"evidence/answers/{split}.jsonl", folder / f"examples/{split}.parquet"
    if not (folder / name).is_file():
        return
    published: dict[str, str] = {}
    if table.is_file():
        for row in pq.read_table(table, columns=["id", "reference_answer"]).to_pylist():
            if row["reference_answer"]:
                published[str(row["id"])] = row["reference_answer"]
    told: set[str] = set()
    faults: list[Difference] = []
    for row in objects(folder, name, faults, query_id=str, text_sha256=str, author=str):
        qid = row["query_id"]
        told.add(qid)
        if row["text_sha256"] != _sha256(published.get(qid, "").encode()):
            yield name, "its answer is another than the one published", qid
        if row["author"] == "model" and not all(row.get(each) for each in _MADE):
            yield name, "a model's answer without its model or the hash of its prompt", qid
    for fault in faults:
        yield fault.file, fault.why, fault.query
    for qid in sorted(published.keys() - told):
        yield name, "it does not say where this answer comes from", qid


def check_prompts(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, what does not hold) of the prompts that are in the release, each under its hash.

    Prompts of before the app's present one are not: their hash cannot be checked.
    """
    for path in sorted((folder / PROMPTS).glob("*.txt")):
        if _sha256(path.read_bytes()) != path.stem:
            yield f"{PROMPTS}/{path.name}", "its text has another hash than its name"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
