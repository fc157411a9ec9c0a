"""The end of an expansion: each round becomes a query source, and with a retriever a run."""

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from corpus.imports.wordings import write_source
from corpus.lists import unused_name
from corpus.models import ExpansionRound, ExpansionRun, ExpansionState, Query, RankedList
from corpus.runs.writing import Listed, failed_first, write_run
from corpus.wordings.services import names_taken
from kit.runs.moves import note


def close(run: ExpansionRun) -> None:
    """Publish the rounds, or end as failed where a query has none. Raises LostLease."""
    report = report_of(run)
    if failed_first(run, report, instead="as they are"):
        return
    with transaction.atomic():
        count = run.config.get("rounds", 1)
        report["rounds"] = [_publish(run, number, count, report) for number in range(1, count + 1)]
        last = report["rounds"][-1]
        run.finish(
            source_id=last["source"], run_id=last["run"], report=report, error="", pause_reason=""
        )
        note(run, None, "publish expansion", source=last["source"], made=last["run"])


def report_of(run: ExpansionRun) -> dict[str, Any]:
    """What was met: passages shown and cut, replies that could not be used, rounds in which the
    query stayed, queries that stopped early and that stayed as they were."""
    found = {"shown": 0, "cut": 0, "unread": 0, "kept_rounds": 0, "stopped": 0}
    rows = ExpansionRound.objects.filter(item__run=run).values_list("shown", "found")
    for shown, each in rows.iterator(chunk_size=500):
        found["shown"] += len(shown)
        found["cut"] += each.get("cut", 0)
        found["unread"] += each.get("unread", 0)
        found["kept_rounds"] += each.get("is_kept", False)
        found["stopped"] += each.get("is_last", False)
    kept = run.items.filter(state=ExpansionState.KEPT).count()
    return {**found, "kept_queries": kept}


def _publish(run: ExpansionRun, number: int, count: int, report: dict[str, Any]) -> dict[str, Any]:
    """One round as a source and, with a retriever, a run; who stopped before is as it was then."""
    name = run.name if number == count else f"{run.name}, round {number}"
    taken = names_taken(run.benchmark, run.retriever) - {run.name}
    name = unused_name(name, taken)
    items = run.items.select_related("query__domain").order_by("pk")
    latest: dict[int, ExpansionRound] = {}
    rows = ExpansionRound.objects.filter(item__run=run, number__lte=number).order_by("number")
    for each in rows.iterator(chunk_size=200):
        latest[each.item_id] = each
    provenance = {
        "expansion": run.pk,
        "round": number,
        "rounds": count,
        "label": f"worded here: {run.get_method_display()}, round {number} of {count}",
        "model": run.model,
        "config": run.config,
        "practice": run.practice,
        **{key: value for key, value in report.items() if key != "rounds"},
    }
    queries = [each.query for each in items if each.state == ExpansionState.WORDED]
    of_query = {each.query_id: latest.get(each.pk) for each in items}
    texts = [(q, made.query) for q in queries if (made := of_query[q.pk]) and made.query != q.text]
    source = write_source(benchmark=run.benchmark, name=name, texts=texts, provenance=provenance)
    made_run = None
    if run.retriever is not None:
        made_run = write_run(
            benchmark=run.benchmark,
            version_key=run.retriever.corpus_version_id,
            name=name,
            taken=taken - {name},
            lists=_lists(run, [each.query for each in items], of_query),
            provenance=provenance
            | {
                "method": run.retriever.provenance.get("method", ""),
                "source": run.retriever.name,
                "queries": source.name,
            },
        )
    return {"round": number, "source": source.pk, "run": made_run.pk if made_run else None}


def _lists(
    run: ExpansionRun, queries: list[Query], of_query: dict[int, ExpansionRound | None]
) -> Iterator[Listed]:
    """What the round retrieved; of a query that stayed as it was what the retriever had."""
    own = {
        pk: (pids, scores)
        for pk, pids, scores in RankedList.objects.filter(
            run=run.retriever, query__in=[q.pk for q in queries if of_query[q.pk] is None]
        ).values_list("query", "pids", "scores")
    }
    for query in queries:
        made = of_query[query.pk]
        if made is not None and made.pids is not None:
            yield query.pk, query.domain.name, query.qid, made.pids, made.scores
        elif query.pk in own:
            yield query.pk, query.domain.name, query.qid, *own[query.pk]
