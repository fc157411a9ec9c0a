"""Traces in and out: records of other programs' agents as a run here, and a run as such records."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from corpus.lists import unused_name
from corpus.models import Benchmark, Query
from corpus.texts.tokens import CHARACTERS, cut
from evaluation.agents.models import AgentItem, AgentRun, AgentState
from evaluation.agents.protocol.asking import Answer
from evaluation.agents.protocol.loop import MAX_ITERATIONS, Trace, Turn
from evaluation.agents.protocol.records import Record, RecordFault, read_record, written
from evaluation.agents.protocol.tools import SEARCH, Use
from evaluation.agents.reading import texts_of
from evaluation.agents.running import store_trace
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import note
from llm.models import Call

# Faults that are named before the reading stops.
_MOST_NAMED: Final = 20
_LONGEST_LINE: Final = 50_000_000


def read_files(path: Path) -> Iterator[tuple[str, Any]]:
    """(place, record) of a file of lines, a file of one record or a list, or a folder of files.

    What is no JSON is given as a RecordFault.
    """
    files = sorted(path.rglob("*.json*")) if path.is_dir() else [path]
    for file in files:
        if file.suffix == ".jsonl":
            with file.open(encoding="utf-8", errors="replace") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield f"{file.name}, line {number}", parsed(line)
            continue
        found = parsed(file.read_text("utf-8", errors="replace"))
        if isinstance(found, list):
            yield from ((f"{file.name}, record {n}", each) for n, each in enumerate(found, 1))
        else:
            yield file.name, found


def import_traces(
    *,
    benchmark: Benchmark,
    path: Path,
    retriever: str,
    actor: User | None,
    name: str = "",
    domain: str = "",
) -> AgentRun:
    """Records as a finished run, all of them or none; repeated queries are repetitions.

    Answers of rounds that all records share make fixed rounds; one answer each, an agent that
    decided itself. Raises Refused with the place of every fault.
    """
    if not path.exists():
        raise Refused(f"There is no {path}.")
    queries = queries_by_id(benchmark, domain)
    rows: list[tuple[Query, Record]] = []
    faults: list[str] = []
    for place, data in read_files(path):
        try:
            if isinstance(data, RecordFault):
                raise data
            record = read_record(data)
            rows.append((_query_of(record, queries), record))
        except RecordFault as fault:
            faults.append(f"{place}: {fault}")
            if len(faults) == _MOST_NAMED:
                break
    if faults:
        raise Refused("\n".join(faults))
    if not rows:
        raise Refused(f"{path} holds no record.")
    counts = {len(record.answers) for _, record in rows}
    if len(counts) > 1:
        raise Refused("Some records have more answers than others: import them as two runs.")
    models = {record.model for _, record in rows if record.model}
    if len(models) > 1:
        raise Refused(f"Records of several models: {', '.join(sorted(models))}.")
    rounds = counts.pop()
    taken = set(benchmark.agent_runs.values_list("name", flat=True))
    model = next(iter(models), "unknown")
    name = name.strip()[:190] or f"{model}, {retriever}, imported"[:190]
    with transaction.atomic():
        run = AgentRun.objects.create(
            benchmark=benchmark,
            name=unused_name(name, taken),
            retrieval_run=benchmark.retrieval_runs.filter(name=retriever).first(),
            retriever=retriever,
            config={"rounds": rounds if rounds > 1 else None, "k": 5, "imported": path.name},
            endpoint="",
            model=model,
            status=RunStatus.DONE,
            ended_at=timezone.now(),
            done=len(rows),
            total=len(rows),
            created_by=actor,
        )
        times: Counter[int] = Counter()
        for query, record in rows:
            item = AgentItem(run=run, query=query, repetition=times[query.pk])
            times[query.pk] += 1
            store_trace(item, Trace(record.status, record.turns, record.answers))
        AgentRun.objects.filter(pk=run.pk).update(repetitions=max(times.values()))
        note(run, actor, "import traces", file=path.name, traces=len(rows))
    run.refresh_from_db()
    return run


def export_traces(run: AgentRun, *, shape: str) -> Iterator[dict[str, Any]]:
    """Records of the run's outcomes, by domain and query.

    Snippets are those of the passages as they are now; usage is that of the ledger.
    """
    done = run.items.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
    ordered = done.select_related("query__domain", "run__benchmark", "run__retrieval_run")
    config = run.config
    metadata = {
        "model": run.model,
        "reasoning": {"effort": config.get("reasoning_effort", ""), "summary": None},
        "output_dir": f"{run.retriever}",
        "max_tokens": config.get("max_tokens"),
    }
    for item in ordered.order_by("query__domain__name", "query_id", "repetition"):
        record = Record(
            item.query.qid,
            item.query.domain.name,
            run.model,
            MAX_ITERATIONS if item.state == AgentState.MAX_ITERATIONS else "",
            tuple(_turn(item, turn) for turn in item.turns),
            tuple(Answer(a["round"], a["text"], a["confidence"]) for a in item.answers),
        )
        yield written(record, shape=shape, usage=_usage(item), metadata=metadata)


def _turn(item: AgentItem, turn: dict[str, Any]) -> Turn:
    config, texts = item.run.config, texts_of(item, turn)
    uses = []
    for use in turn["uses"]:
        found = [
            {"docid": pid}
            | ({} if score is None else {"score": score})
            | {
                "snippet": cut(
                    texts.get(pid, ""),
                    config.get("snippet_tokens", 2048),
                    config.get("tokenizer", CHARACTERS),
                )
            }
            for pid, score in zip(use["docids"], use["scores"], strict=True)
        ]
        said: Any = {"error": use["fault"]} if use["fault"] else found
        if use["tool"] != SEARCH and not use["fault"]:
            said = {"docid": use["text"]}
        output = json.dumps(said, ensure_ascii=False)
        ids, scores = tuple(use["docids"]), tuple(use["scores"])
        uses.append(Use(use["id"], use["tool"], use["arguments"], output, use["text"], ids, scores))
    return Turn(turn["round"], turn["text"], tuple(uses))


def _usage(item: AgentItem) -> dict[str, int]:
    keys = {each["call"] for each in (*item.turns, *item.answers) if each["call"]}
    columns = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    rows = Call.objects.filter(pk__in=keys).values_list(*columns)
    sums = [sum(value or 0 for value in column) for column in zip(*rows, strict=True)] or [0] * 4
    names = (
        "input_tokens",
        "input_tokens_cached",
        "output_tokens",
        "included_reasoning_tokens",
    )
    return dict(zip(names, sums, strict=True)) | {"total_tokens": sums[0] + sums[2]}


def parsed(text: str, longest: int = _LONGEST_LINE) -> Any:
    """A line of JSON, or the fault why it is none."""
    if len(text) > longest:
        return RecordFault("The record is far too long.")
    try:
        return json.loads(text)
    except ValueError as fault:
        return RecordFault(f"This is not JSON: {fault}.")
    except RecursionError:
        return RecordFault("This is nested too deeply.")


def queries_by_id(benchmark: Benchmark, domain: str) -> dict[str, list[Query]]:
    """Queries of the benchmark, or of one domain, by their id, which several domains may have, and
    by "domain/id"."""
    rows = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True)
    if domain:
        rows = rows.filter(domain__name=domain)
    found: dict[str, list[Query]] = {}
    for query in rows.select_related("domain").order_by("pk"):
        for name in (query.qid, f"{query.domain.name}/{query.qid}"):
            found.setdefault(name, []).append(query)
    return found


def _query_of(record: Record, queries: dict[str, list[Query]]) -> Query:
    named: Sequence[Query] = queries.get(record.query_id, ())
    if record.task:
        task = record.task.replace("-", "_")
        named = [each for each in named if each.domain.name.replace("-", "_") == task]
    if not named:
        where = f" of {record.task}" if record.task else ""
        raise RecordFault(f"query_id: there is no query {record.query_id!r}{where} here.")
    if len(named) > 1:
        raise RecordFault(f"query_id: {record.query_id!r} is in several domains; choose one.")
    return named[0]
