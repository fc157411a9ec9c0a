"""RankLLM's requests: of each query the passages that a first stage found, to be ranked anew."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from evaluation.exporters.files import write_jsonl

# As many as rerankers are commonly given.
DEPTH = 100


class Candidate(NamedTuple):
    """A passage with its score in the first stage; `title` may be empty."""

    pid: str
    score: float
    title: str
    text: str


class Request(NamedTuple):
    """A query with its candidates, best first."""

    qid: str
    text: str
    candidates: list[Candidate]


def write_requests(path: Path, requests: Iterable[Request]) -> int:
    """One request a line, and their number."""
    return write_jsonl(path, map(_line, requests))


def _line(request: Request) -> dict[str, object]:
    candidates = [
        {
            "docid": each.pid,
            "score": each.score,
            "doc": {**({"title": each.title} if each.title else {}), "text": each.text},
        }
        for each in request.candidates
    ]
    return {"query": {"text": request.text, "qid": request.qid}, "candidates": candidates}
