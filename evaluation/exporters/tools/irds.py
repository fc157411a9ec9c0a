"""This release in ir_datasets, a dataset for each split.

    import sys

    sys.path.insert(0, "path/to/this/folder/tools")
    import ir_datasets, irds  # registers them

    dataset = ir_datasets.load(irds.NAMES["biology"])

Everything is read from `beir/`; labels are those of the expert view.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ir_datasets
from ir_datasets.formats import BaseQrels, GenericQrel, JsonlDocs, JsonlQueries
from ir_datasets.util import LocalDownload

ROOT = Path(__file__).resolve().parents[1]
ABOUT = json.loads((ROOT / "tools/splits.json").read_text("utf-8"))
NAMES = {split: f"{ABOUT['name']}/{ABOUT['version']}/{split}" for split in ABOUT["splits"]}


class Document(NamedTuple):
    """A passage."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        """What Assay searches."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Qrels(BaseQrels):
    """Labels between tabs, as ids may have blanks."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def qrels_path(self) -> Path:
        """The file."""
        return self._path

    def qrels_iter(self) -> Iterator[GenericQrel]:
        """Every label, 0 too."""
        with self._path.open(encoding="utf-8", newline="\n") as file:
            next(file)
            for line in file:
                qid, pid, label = line.rstrip("\n").split("\t")
                yield GenericQrel(qid, pid, int(label))

    def qrels_defs(self) -> dict[int, str]:
        """What labels mean."""
        return {0: "judged not relevant", 1: "relevant; above, as the original gold grades it"}


def _dataset(split: str) -> ir_datasets.Dataset:
    folder = ROOT / f"beir/{split}"
    return ir_datasets.Dataset(
        JsonlDocs(
            LocalDownload(folder / "corpus.jsonl", mkdir=False),
            doc_cls=Document,
            mapping={"doc_id": "_id", "title": "title", "text": "text"},
            namespace=NAMES[split],
            # Beside the release's files it would be one that has no checksum.
            docstore_path=ir_datasets.util.home_path() / NAMES[split] / "docs.pklz4",
        ),
        JsonlQueries(
            LocalDownload(folder / "queries.jsonl", mkdir=False),
            mapping={"query_id": "_id", "text": "text"},
        ),
        Qrels(folder / "qrels/test.tsv"),
    )


for _split, _name in NAMES.items():
    if _name not in ir_datasets.registry:
        ir_datasets.registry.register(_name, _dataset(_split))
