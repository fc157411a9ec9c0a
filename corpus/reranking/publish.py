"""The end of a reranking: its orders become a retrieval run like any other."""

from collections import Counter
from statistics import fmean
from typing import Any

from django.db import transaction

from corpus.models import RerankRun, RerankState, RetrievalRun
from corpus.reranking.services import names_taken
from corpus.runs.writing import failed_first, write_run
from kit.runs.moves import note


def close(run: RerankRun) -> None:
    """Publish the outcome, or end as failed where a query has none. Raises LostLease."""
    report = report_of(run)
    if failed_first(run, report, instead="in the retriever's order"):
        return
    with transaction.atomic():
        made = _publish(run, report)
        run.finish(run=made, report=report, error="", pause_reason="")
        note(run, None, "rerank retrieval run", made=made.pk)


def report_of(run: RerankRun) -> dict[str, Any]:
    """What was met: documents shown in part, by how many queries; ids without a text; replies
    that nobody could read, and documents and queries that stayed where the retriever put them; of
    repeats the mean of their spreads, and over how many documents it is."""
    truncated: Counter[str] = Counter()
    found: Counter[str] = Counter()
    spreads: list[float] = []
    for state, each in run.items.values_list("state", "found").iterator(chunk_size=200):
        truncated.update(each.get("truncated", ()))
        scores = each.get("rerank", ())
        spreads += [spread for spread in each.get("spread", ()) if spread is not None]
        found["documents"] += len(each.get("pids", ()))
        found["missing"] += len(each.get("missing", ()))
        found["unread"] += each.get("unread", 0)
        is_kept = state == RerankState.KEPT or each.get("is_kept", False)
        found["kept_queries"] += is_kept
        if run.config.get("mix"):
            found["kept_documents"] += sum(score is None for score in scores)
    names = ("documents", "missing", "unread", "kept_queries", "kept_documents")
    repeated = {"spread": fmean(spreads), "repeated_documents": len(spreads)} if spreads else {}
    return {name: found[name] for name in names} | {
        "truncated": len(truncated),
        "truncated_documents": dict(truncated.most_common(1000)),
        **repeated,
    }


def _publish(run: RerankRun, report: dict[str, Any]) -> RetrievalRun:
    columns = ("query_id", "query__domain__name", "query__qid", "pids", "scores")
    return write_run(
        benchmark=run.benchmark,
        version_key=run.source.corpus_version_id,
        name=run.name,
        taken=names_taken(run.benchmark, run.source) - {run.name},
        lists=run.items.order_by("pk").values_list(*columns),
        provenance={
            "reranking": run.pk,
            "label": f"reranked here: {run.get_method_display()}",
            "method": run.method,
            "source": run.source.name,
            "second": run.second.name if run.second else None,
            "model": run.model,
            "config": run.config,
            "practice": run.practice,
            **{name: value for name, value in report.items() if name != "truncated_documents"},
        },
    )
