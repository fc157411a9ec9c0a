"""This release as retrieval tasks of MTEB (version 2), one for each split.

    import sys

    sys.path.insert(0, "path/to/this/folder/tools")
    import mteb, mteb_tasks

    mteb.evaluate(model, mteb_tasks.tasks())

Texts are those of `documents/`, queries and labels those of `beir/`: the expert view. A query
without a relevant passage is in no task, as it is in no mean of Assay. What a query excludes is
left out of what is ranked for it. The instruction of a split is made from its name; give another by
`tasks({"biology": "Given a post on biology, find what answers it"})`.
"""

import json
from pathlib import Path
from typing import Any

from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

ROOT = Path(__file__).resolve().parents[1]
ABOUT = json.loads((ROOT / "tools/splits.json").read_text("utf-8"))
# MTEB asks for a language, which a release does not state.
LANGUAGES = ["eng-Latn"]


class ReleaseTask(AbsTaskRetrieval):
    """A split of the release, read from the folder that this file lies in."""

    split: str

    def load_data(self, *args: Any, **kwargs: Any) -> None:
        """Read documents, queries and labels."""
        if self.data_loaded:
            return
        labels = _labels(self.split)
        queries = [each for each in _queries(self.split) if each["_id"] in labels]
        columns = ["id", "title", "content"]
        path = str(ROOT / f"documents/{self.split}.parquet")
        documents = Dataset.from_parquet(path, columns=columns).rename_column("content", "text")
        asked = [{"id": each["_id"], "text": each["text"]} for each in queries]
        data = {
            "corpus": documents,
            "queries": Dataset.from_list(asked),
            "relevant_docs": labels,
            "top_ranked": _ranked(queries, documents["id"][:]),
        }
        self.dataset = {"default": {"test": data}}
        self.data_loaded = True


def tasks(instructions: dict[str, str] | None = None) -> list[ReleaseTask]:
    """A task for each split; `instructions` by split take the place of those of the release."""
    return [_task(split, of, instructions or {}) for split, of in ABOUT["splits"].items()]


def _task(split: str, of: dict[str, str], instructions: dict[str, str]) -> ReleaseTask:
    metadata = TaskMetadata(
        name=of["task"],
        description=f"{ABOUT['name']}, version {ABOUT['version']}, split {split}",
        dataset={"path": str(ROOT), "revision": ABOUT["version"]},
        type="Retrieval",
        category="t2t",
        eval_splits=["test"],
        eval_langs=LANGUAGES,
        main_score="ndcg_at_10",
        prompt={"query": instructions.get(split, of["instruction"])},
    )
    return type(of["task"], (ReleaseTask,), {"metadata": metadata, "split": split})()


def _queries(split: str) -> list[dict[str, Any]]:
    with (ROOT / f"beir/{split}/queries.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _labels(split: str) -> dict[str, dict[str, int]]:
    """{query: {passage: label}} of the queries that have a relevant passage."""
    labels: dict[str, dict[str, int]] = {}
    with (ROOT / f"beir/{split}/qrels/test.tsv").open(encoding="utf-8", newline="\n") as file:
        next(file)
        for line in file:
            qid, pid, label = line.rstrip("\n").split("\t")
            labels.setdefault(qid, {})[pid] = int(label)
    return {qid: found for qid, found in labels.items() if max(found.values()) > 0}


def _ranked(queries: list[dict[str, Any]], pids: list[str]) -> dict[str, list[str]] | None:
    """What may be ranked for each query; None where no query excludes anything."""
    excluded = {each["_id"]: set(each.get("excluded_ids", ())) for each in queries}
    if not any(excluded.values()):
        return None
    return {qid: [pid for pid in pids if pid not in out] for qid, out in excluded.items()}
