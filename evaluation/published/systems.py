"""The 25 retrieval systems of DREAM/BRIDGE (section 4.1, Table 16), and which of them are here."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpus.models import Benchmark, RetrievalRun
from evaluation.published.services import plain

_FILE = Path(__file__).parent.parent / "systems.json"


@dataclass(frozen=True)
class KnownSystem:
    """A system as its paper names it.

    `kind` is sparse, dense, rerank (the second part orders what the first found) or rewrite (the
    second part writes the query that the first searches for). A part is a model or package:
    {"name", "link"}, where its makers publish it.
    """

    name: str
    kind: str
    parts: tuple[dict[str, str], ...]


@cache
def known_systems() -> tuple[KnownSystem, ...]:
    """All of them, in the order of the paper's tables."""
    found = json.loads(_FILE.read_text("utf-8"))["systems"]
    return tuple(KnownSystem(each["name"], each["kind"], tuple(each["parts"])) for each in found)


def systems_with_runs(benchmark: Benchmark) -> list[tuple[KnownSystem, RetrievalRun | None]]:
    """Each system with the run of its name, of the loaded texts before others; None without one.

    Names are compared without regard to case and signs.
    """
    found: dict[str, RetrievalRun] = {}
    for run in benchmark.retrieval_runs.order_by("corpus_version", "pk"):
        known = found.get(plain(run.name))
        if known is None or (known.corpus_version_id is not None and run.corpus_version_id is None):
            found[plain(run.name)] = run
    return [(system, found.get(plain(system.name))) for system in known_systems()]
