"""Setting up runs of generated answers: who answers what from which passages, and at what cost."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from corpus.lists import unused_name
from corpus.models import Benchmark, CorpusVersion, Query, RankedList, RetrievalRun
from corpus.pooling import Ranking, top
from corpus.versions.excluded import excluded_in
from corpus.versions.services import names, stored
from evaluation.agents.judging import references_of
from evaluation.agents.services import mean_tokens
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.rag.models import AnswerState, RagAnswer, RagRun, RagSource, SourceKind
from evaluation.rag.protocol.answering import Generator, Harness, answer_request, prompt_of
from kit.errors import Refused
from kit.runs.moves import retry_items
from kit.runs.sharing import cut
from llm.endpoints import Endpoint, fence_key, in_role
from llm.ledger.accounts import asked_of, check_sampling, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.requests import Usage

ROLE: Final = "answerer"
LIMITS: Final[dict[str, tuple[int, int]]] = {"k": (1, 100), "max_tokens": (16, 200_000)}
# Tokens of an answer, a guess for forecasts.
_LIKELY: Final = {Harness.SHORT: 30, Harness.LONG: 600, Harness.CITED: 400}
_ROWS: Final = 1_000
_LISTS: Final = 100


def candidates(benchmark: Benchmark, *, harness: str, domain: str = "") -> QuerySet[Query]:
    """Queries that answers can be graded of: with a text and a true answer.

    For short answers the query's own, for long ones a reference answer as well.
    """
    found = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True).exclude(text="")
    true = ~Q(answers=[])
    if harness != Harness.SHORT:
        known = {each.pk: each for each in found.select_related("domain")}
        true |= ~Q(gold_answer="") | Q(pk__in=list(references_of(benchmark, known)))
    found = found.filter(true)
    if domain:
        found = found.filter(domain__name=domain)
    return found.select_related("domain__benchmark").order_by("pk")


def truths_of(benchmark: Benchmark, queries: Sequence[Query], harness: str) -> dict[int, list[str]]:
    """What answers are graded against, by query: the true short answers; for long ones the
    published reference answer, else the one that was loaded, else the short ones together."""
    if harness == Harness.SHORT:
        return {query.pk: list(query.answers) for query in queries}
    published = references_of(benchmark, {query.pk: query for query in queries})
    return {
        query.pk: [published.get(query.pk) or query.gold_answer or "\n\n".join(query.answers)]
        for query in queries
    }


def start_answers(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    endpoint: Endpoint,
    actor: User | None,
    harness: str = Harness.SHORT.value,
    k: int = 10,
    baselines: bool = True,
    domain: str = "",
    name: str = "",
    max_tokens: int | None = None,
    temperature: float = 0.0,
    reasoning_effort: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> RagRun:
    """Let a model answer every query from the first k passages of each run, and wake a worker.

    With `baselines` also without retrieval and from the gold of the current corpus version.
    `claimed` keeps it for the calling process. Raises Refused, naming the field.
    """
    endpoint = in_role(endpoint, ROLE)
    if harness not in list(Harness):
        raise Refused(f"The harnesses are {', '.join(Harness)}.", field="harness")
    longest = max_tokens or Harness(harness).max_tokens
    config = {
        "domain": domain,
        "max_tokens": longest,
        "temperature": temperature,
        "reasoning_effort": reasoning_effort,
        "prompts": _prompts(harness),
        "prompt_version": prompt_of(Harness(harness).roles[0]).version,
    }
    for field, value in (("k", k), ("max_tokens", longest)):
        low, high = LIMITS[field]
        if not low <= value <= high:
            raise Refused(f"{field} is a number from {low:,} to {high:,}.", field=field)
    check_sampling(temperature, reasoning_effort)
    if domain and not benchmark.domains.ready().filter(name=domain).exists():
        raise Refused(f"There is no domain {domain!r}.", field="domain")
    sources = _sources(benchmark, runs, baselines=baselines)
    if not sources:
        raise Refused("Choose a retrieval run, or the baselines.", field="runs")
    total = candidates(benchmark, harness=harness, domain=domain).count() * len(sources)
    if not total:
        raise Refused("No query has a true answer to hold generated ones against.")
    taken = set(benchmark.rag_runs.values_list("name", flat=True))
    name = name.strip()[:190] or f"{endpoint.default_model}, {harness} answers"[:190]
    run = RagRun(
        benchmark=benchmark,
        name=unused_name(name, taken),
        harness=harness,
        k=k,
        config=config,
        **asked_of(endpoint),
        budget_usd=budget_usd,
        total=total,
    )
    for source in sources:
        source.run = run
    said = {"sources": len(sources), "harness": harness}
    return start_asking(run, sources, actor=actor, verb="start answering", claimed=claimed, **said)


def _sources(
    benchmark: Benchmark, runs: Sequence[RetrievalRun], *, baselines: bool
) -> list[RagSource]:
    version = CorpusVersion.objects.current(benchmark)
    known = names(benchmark)
    found = []
    if baselines:
        found.append(RagSource(kind=SourceKind.NONE, name=SourceKind.NONE.label))
        gold = RagSource(kind=SourceKind.GOLD, name=SourceKind.GOLD.label)
        gold.corpus_version_id = version.key if version else None
        found.append(gold)
    for run in runs:
        of = known.get(run.corpus_version_id) if run.corpus_version_id else ""
        found.append(
            RagSource(
                kind=SourceKind.RUN,
                retrieval_run=run,
                corpus_version_id=run.corpus_version_id,
                name=f"{run.name}, {of}"[:200] if of else run.name,
            )
        )
    return found


def plan(run: RagRun) -> None:
    """Let an answer of each source to each query wait, then cut groups of them.

    A worker does it: long lists take their time. Raises LostLease, and Refused where a retrieval
    run is gone.
    """
    queries = list(candidates(run.benchmark, harness=run.harness, domain=run.config["domain"]))
    for source in run.sources.filter(is_planned=False).select_related("retrieval_run"):
        rows = [
            RagAnswer(run=run, source=source, query_id=query, passages=pids)
            for query, pids in _passages(run, source, queries)
        ]
        for start in range(0, len(rows), _ROWS):
            with transaction.atomic():
                run.beat()
                part = rows[start : start + _ROWS]
                RagAnswer.objects.bulk_create(part, ignore_conflicts=True)
        with transaction.atomic():
            run.beat(total=len(queries) * run.sources.count())
            RagSource.objects.filter(pk=source.pk).update(is_planned=True)
    cut(run)


def _passages(
    run: RagRun, source: RagSource, queries: Sequence[Query]
) -> Iterator[tuple[int, list[str]]]:
    """(query, ids of the passages that it is answered from), in the order of queries."""
    if source.kind == SourceKind.NONE:
        yield from ((query.pk, []) for query in queries)
        return
    version = stored(run.benchmark, source.corpus_version_id)
    if source.kind == SourceKind.GOLD:
        found = _gold(run, version, {query.domain_id for query in queries})
        yield from ((query.pk, list(found.get(query.pk, ()))[: run.k]) for query in queries)
        return
    if source.retrieval_run is None:
        raise Refused(f"The retrieval run {source.name} is gone.")
    excluded = excluded_in(version, queries) if version else {}
    for start in range(0, len(queries), _LISTS):
        part = [query.pk for query in queries[start : start + _LISTS]]
        rows = RankedList.objects.filter(run=source.retrieval_run, query__in=part)
        lists = {key: (pids, scores) for key, pids, scores in rows.values_list(
            "query_id", "pids", "scores")}  # fmt: skip
        for key in part:
            pids, scores = lists.get(key, ((), None))
            ranked = top(Ranking(pids, scores), run.k, excluded=excluded.get(key, ()))
            yield key, [pid for pid, _ in ranked]


def _gold(
    run: RagRun, version: CorpusVersion | None, domains: set[int]
) -> Mapping[int, Sequence[str]]:
    with frozen():
        view = view_of(run.benchmark, version, shown_only=True)
        return {
            record.pk: record.gold_ids
            for domain in view.splits.values()
            if domain.pk in domains
            for record in read_queries(view, domain, with_answers=False)
        }


def retry_failed(*, run: RagRun, actor: User | None) -> None:
    """Ask again what failed, and that alone; what was answered comes from the ledger and is not
    paid again. Raises Refused where nothing failed."""
    retry_items(run, run.answers.all(), actor=actor, noun="answer", nouns="answers")


def close(run: RagRun) -> None:
    """Keep what each source came to in its sheet, and end the run."""
    columns = ("query_id", "state", "is_informed", "missing", "accuracy", "exact", "f1")
    for source in run.sources.all():
        run.beat()
        rows = list(source.answers.order_by("query_id").values_list(*columns))
        states = [(row[1] == AnswerState.ANSWERED, row[2]) for row in rows]
        RagSource.objects.filter(pk=source.pk).update(
            sheet={
                "queries": [row[0] for row in rows],
                "failed": sum(not answered for answered, _ in states),
                "uninformed": sum(answered and not informed for answered, informed in states),
                "missing": sum(row[3] for row in rows),
                **{name: [row[at] for row in rows] for at, name in enumerate(columns) if at > 3},
            }
        )
    run.finish()


def _prompts(harness: str) -> dict[str, str]:
    return {role: prompt_of(role).sha256 for role in Harness(harness).roles}


def generator_of(run: RagRun) -> Generator:
    """Who answers, as it was frozen. Raises Refused where a prompt changed since."""
    config = run.config
    if config["prompts"] != _prompts(run.harness):
        raise Refused("A prompt changed since this run was made; start a new run.")
    kept = ("temperature", "max_tokens", "reasoning_effort")
    return Generator(
        run.endpoint, run.model, Harness(run.harness), **{name: config[name] for name in kept}
    )


def forecast(
    queries: QuerySet[Query],
    endpoint: Endpoint | None,
    *,
    runs: int,
    harness: str = Harness.SHORT.value,
    k: int = 10,
    baselines: bool = True,
    reasoning_effort: str = "",
) -> dict[str, Any]:
    """What answering is likely to take, if every list holds k passages; grading comes on top.

    `usd` is None without a known price.
    """
    chosen, model = list(queries), endpoint.default_model if endpoint else ""
    who, with_passages = Generator("", "", Harness(harness)), runs + baselines
    shown = sum(likely_input(answer_request(q.text, (), who, fence_key())) for q in chosen)
    bare = sum(likely_input(answer_request(q.text, None, who, fence_key())) for q in chosen)
    passages = len(chosen) * k * (mean_tokens(chosen) + 15)
    calls = len(chosen) * (with_passages + baselines)
    written = _LIKELY[who.harness] + likely_thoughts(model, reasoning_effort)
    usage = Usage(
        input=with_passages * (shown + passages) + baselines * bare, output=calls * written
    )
    return {"queries": len(chosen), "calls": calls, **costs(usage, endpoint)}
