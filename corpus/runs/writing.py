"""A retrieval run written whole, as what a reranking or an expansion becomes."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from corpus.lists import unused_name
from corpus.models import Benchmark, RankedList, RetrievalRun
from kit.database.bulk import copy_rows
from kit.runs.models import RunStatus

_COLUMNS: Final = ("run_id", "query_id", "pids", "scores")
# Query, its domain, its id, passage ids, scores.
Listed = tuple[int, str, str, list[str], list[float] | None]


def failed_first(run: Any, report: Mapping[str, Any], *, instead: str) -> bool:
    """Whether items of a run failed: then it has ended as failed, and is told what to do. Raises
    LostLease."""
    failed = run.items.filter(state="failed").count()
    if failed:
        queries = "1 query" if failed == 1 else f"{failed:,} queries"
        words = (
            f"{queries} failed; nothing is published yet. Try them again, or keep them {instead}."
        )
        run.finish(RunStatus.FAILED, error=words, report=report)
    return bool(failed)


def write_run(
    *,
    benchmark: Benchmark,
    version_key: int | None,
    name: str,
    taken: Iterable[str],
    lists: Iterable[Listed],
    provenance: dict[str, Any],
) -> RetrievalRun:
    """Write lists as a run of that name, or with a number behind it where that is taken; in a
    transaction of the caller."""
    made = RetrievalRun.everything.create(
        benchmark=benchmark,
        name=unused_name(name, taken),
        corpus_version_id=version_key,
        is_ready=False,
    )
    digests: list[tuple[str, str, str]] = []
    rows: list[tuple[int, int, str, str | None]] = []
    depth = 0
    for query, domain, qid, pids, scores in lists:
        ranking = json.dumps([pids, scores]).encode()
        digests.append((domain, qid, hashlib.sha256(ranking).hexdigest()))
        kept = None if scores is None else json.dumps(scores)
        rows.append((made.pk, query, json.dumps(pids), kept))
        depth = max(depth, len(pids))
    copy_rows(RankedList, _COLUMNS, rows)
    RetrievalRun.everything.filter(pk=made.pk).update(
        is_ready=True,
        digest=hashlib.sha256(json.dumps(sorted(digests)).encode()).hexdigest(),
        query_count=len(rows),
        depth=depth,
        provenance=provenance,
    )
    return RetrievalRun.objects.get(pk=made.pk)
