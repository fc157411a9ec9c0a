"""Debating a file of pairs without anything else around it: rows in, outcomes out."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from annotate.workspace.loading import run_import
from corpus.importers.files import Meter, data_files
from corpus.importers.reading import records
from corpus.importers.rows import Location, Problem
from corpus.imports.services import benchmark_for, drop_empty_benchmark, queue_import
from corpus.models import Pool
from debate.models import Debate, DebateRun
from kit.runs.models import RunStatus

_CHUNK = 500


class BadPairs(Exception):
    """The file cannot be taken; the message lists up to a hundred places."""


def load_pairs(path: Path) -> Pool:
    """Load the file into a benchmark of its own and return its pool.

    The benchmark is named after the file's contents, so the same file finds it again.
    Raises BadPairs, and leaves nothing, if a row cannot be read.
    """
    if not path.is_file():
        raise BadPairs(f"{path} is not a file.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    benchmark = benchmark_for(slug=f"pairs-{digest}", name=f"Pairs of {path.name}"[:120])
    run = queue_import(benchmark=benchmark, actor=None, format="pairs", path=path, claim=True)
    run_import(run)
    if run.status != RunStatus.DONE:
        drop_empty_benchmark(benchmark)
        raise BadPairs("\n".join([run.error, *map(_problem, run.problems)]))
    pool = benchmark.pools.first()
    if pool is None:
        drop_empty_benchmark(benchmark)
        raise BadPairs(f"{path} holds no pairs.")
    return pool


def write_outcomes(run: DebateRun, pairs: Path, out: Path) -> int:
    """Write one row per pair, in the file's order; return their number.

    Row: id (as it was given), label 1/0/null, status, round, turns. The file appears whole or
    not at all.
    """
    rows = run.debates.select_related("query").prefetch_related("turns")
    # In chunks, because a database takes only so many keys in one question.
    debates = {debate.query.qid: debate for debate in rows.iterator(chunk_size=_CHUNK)}
    part = out.with_name(out.name + ".part")
    count = 0
    try:
        with part.open("wb") as file:
            for given in _ids(pairs):
                file.write(orjson.dumps(_row(given, debates[str(given)])) + b"\n")
                count += 1
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return count


def _ids(pairs: Path) -> Iterator[Any]:
    for file in data_files(pairs):
        for record in records(file, Meter()):
            if not isinstance(record, Problem):
                yield record.data["id"]


def _row(given: Any, debate: Debate) -> dict[str, Any]:
    return {
        "id": given,
        "label": debate.label,
        "status": debate.status,
        "round": debate.round,
        "turns": [
            {
                "round": turn.round,
                "agent": turn.agent,
                "stance": turn.stance,
                "response": turn.response or None,
                "reason": turn.reason,
                "reference": turn.references,
            }
            for turn in debate.turns.all()
        ],
    }


def _problem(row: dict[str, Any]) -> str:
    location = Location(row["file"], row["line"], row["field"])
    return str(Problem(location, row["message"]))
