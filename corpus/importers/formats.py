"""The formats by name. A new one is one module with a `read`, and one line here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from corpus.importers import (
    beir,
    bridge,
    bright,
    bright_pro,
    cranfield,
    hotpotqa,
    score_json,
    trec,
    trec_run,
)
from corpus.importers import passages as pairs
from corpus.importers.archive import Guarded
from corpus.importers.files import Meter
from corpus.importers.rows import Row, RunFileRow

R = TypeVar("R", covariant=True)


class Reader(Protocol[R]):
    """Rows, problems and oddities of the files at `path`, in the order they stand."""

    def __call__(
        self, path: Path, *, qrels: Path | None = None, meter: Meter | None = None, domain: str = ""
    ) -> Iterator[R]:
        """Read lazily; raise nothing about what the files hold.

        Only readers of runs take a `domain`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Format(Generic[R]):
    """A format's name for people, its reader, and what a path of it looks like."""

    title: str
    read: Reader[R]
    hint: str


def _format(title: str, read: Callable[..., Iterator[R]], hint: str) -> Format[R]:
    return Format(title, Guarded(read), hint)


FORMATS: dict[str, Format[Row]] = {
    "bright_pro": _format("Bright-Pro", bright_pro.read, "a zip of examples, aspects, documents"),
    "bright": _format("BRIGHT", bright.read, "a zip of examples and documents, or a query file"),
    "bridge": _format("BRIDGE", bridge.read, "a zip with one folder per subset, or one file"),
    "beir": _format("BEIR", beir.read, "a zip of corpus.jsonl, queries.jsonl and qrels"),
    "trec": _format("TREC collection", trec.read, "a zip of topics, documents and qrels"),
    "cranfield": _format("Cranfield", cranfield.read, "a zip of cran.all.1400, cran.qry, cranqrel"),
    "hotpotqa": _format("HotpotQA rows", hotpotqa.read, "one .jsonl or .jsonl.gz file"),
    "pairs": _format("Pairs to debate", pairs.read, "one .jsonl file: id, query, answers, passage"),
}
# What systems retrieved. They yield RunRows, which bring no texts and no gold.
RUN_FORMATS: dict[str, Format[RunFileRow]] = {
    "trec_run": _format("TREC run", trec_run.read, "one file per domain: biology.run.gz"),
    "score_json": _format("Scores as JSON", score_json.read, "one file per domain: biology.json"),
}


def format_named(name: str) -> Format[Any]:
    """The format of collections or of runs that has this name; raises KeyError."""
    return FORMATS.get(name) or RUN_FORMATS[name]


def all_formats() -> dict[str, Format[Any]]:
    """Every format by name, collections first."""
    return {**FORMATS, **RUN_FORMATS}
