"""What each step of a chain begins, what it waits for, and what it leaves to the next.

A step is three functions: `begin` starts its runs (none, where it only waits for people), `waits`
says what people still have to do, and `leave` gives what later steps go on with, and the lines that
its output is hashed from. All read `Here`: the benchmark, and what the steps before left.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from annotate.assignments.models import HANDED_IN
from annotate.models import Aspect, Assignment, CaseStatus, EscalationCase, WorkState
from corpus.cleaning.services import start_cleaning
from corpus.computing import services as computing
from corpus.models import (
    Benchmark,
    CleaningPreset,
    CorpusVersion,
    Judgment,
    Passage,
    Pool,
    Query,
    RetrievalRun,
)
from corpus.pools.builds import start_build
from corpus.versions.services import make_current, stored
from debate.adoption.services import adopt_run
from debate.filters.services import keep_pairs
from debate.models import Debate, DebateRun
from debate.runs.forecast import forecast_plan
from debate.runs.planning import Plan, plan_run, start_planned
from evaluation.agents import judging
from evaluation.agents import services as agents
from evaluation.models import AgentRun, AnswerVerdict, RagAnswer, RagRun
from evaluation.rag import grading
from evaluation.rag import services as rag
from evaluation.rag.protocol.answering import Harness
from evaluation.releases.services import start_release, suggested_version
from kit.errors import Refused
from kit.runs.models import RunStatus, TrackedRun
from llm import endpoints
from llm.endpoints import Endpoint

Settings = Mapping[str, Any]
Lines = Iterable[Sequence[object]]
_CENT: Final = Decimal("0.01")


@dataclass(frozen=True)
class Here:
    """Where a step stands: `left` is what the steps before it left, `records` what they came to.

    `budget` is what the step may spend, None without a limit.
    """

    benchmark: Benchmark
    actor: User | None
    left: Mapping[str, Any] = field(default_factory=dict)
    budget: Decimal | None = None
    records: Sequence[Mapping[str, Any]] = ()

    @property
    def version(self) -> CorpusVersion | None:
        """The corpus version that the chain works on: what it cleaned, else the current one."""
        if "version" in self.left:
            return CorpusVersion.objects.get(pk=self.left["version"])
        return CorpusVersion.objects.current(self.benchmark)

    @property
    def scored(self) -> CorpusVersion | None:
        """The version whose gold its systems are held against: of documents by their best chunk,
        the one that was cut."""
        rows = RetrievalRun.objects.filter(pk__in=self.left.get("systems") or [])
        first = rows.order_by("pk").first()
        return stored(self.benchmark, first.corpus_version_id) if first else self.version

    def systems(self, names: Sequence[str] = ()) -> list[RetrievalRun]:
        """The chain's retrieval runs, else all of its version; by name where some are named.

        Those of documents by their best chunk are of the version that was cut, and its own.
        Raises Refused for a name that none has.
        """
        version, own = self.version, self.left.get("systems") or []
        known = Q(corpus_version=version.key if version else None) | Q(pk__in=own)
        rows = RetrievalRun.objects.filter(known, benchmark=self.benchmark).order_by("pk")
        if names:
            # Of two that share a name it is the chain's that is meant.
            found = {run.name: run for run in sorted(rows, key=lambda run: run.pk in own)}
            if missing := [name for name in names if name not in found]:
                here = ", ".join(found) or "none"
                raise Refused(f"There is no retrieval run {missing[0]!r} here, but {here}.")
            return [found[name] for name in names]
        return list(rows.filter(pk__in=own) if own else rows)

    def endpoint(self, settings: Settings, role: str) -> Endpoint:
        """The endpoint that is named, else the first of the role. Raises Refused."""
        if name := settings.get("endpoint"):
            return endpoints.get(name)
        known = endpoints.available(role)
        if not known:
            raise Refused("No model endpoint is set up, and the practice model does not run.")
        return known[0]

    def share(self, runs: int) -> Decimal | None:
        """Of the step's budget what each of so many runs may spend, in whole cents."""
        if self.budget is None:
            return None
        return (self.budget / max(1, runs)).quantize(_CENT, ROUND_DOWN)


@dataclass(frozen=True)
class Kind:
    """A kind of step."""

    label: str
    begin: Callable[[Here, Settings], Sequence[TrackedRun]]
    leave: Callable[[Here, Settings, Sequence[Any]], tuple[dict[str, Any], Lines]]
    waits: Callable[[Here, Settings], str] = lambda here, settings: ""
    forecast: Callable[[Here, Settings], dict[str, Any]] = lambda here, settings: {}


def _nothing(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return ()


def _clean(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    source = here.version
    if source is None:
        raise Refused("There are no texts to clean. Import some first.")
    preset = settings.get("preset", CleaningPreset.DIVER_RULES.value)
    given = {name: settings[name] for name in ("policy", "name", "options", "model")
             if name in settings}  # fmt: skip
    chosen = endpoints.get(settings["endpoint"]) if "endpoint" in settings else None
    if chosen is None and preset.startswith("marcus"):
        chosen = next(iter(endpoints.available("cleaner")), None)
    budget = here.budget if chosen else None
    return [
        start_cleaning(
            benchmark=here.benchmark, source=source, preset=preset, actor=here.actor,
            endpoint=chosen, budget_usd=budget, **given,
        )
    ]  # fmt: skip


def _cleaned(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    version = runs[0].version
    current = CorpusVersion.objects.current(here.benchmark)
    if settings.get("current", True) and current is not None and current != version:
        make_current(version=version, seen=current.pk, actor=here.actor)
        here.benchmark.refresh_from_db(fields=["taken_up"])
    rows = Passage.objects.in_version(version).order_by("domain__name", "pid", "pk")
    lines = rows.values_list("domain__name", "pid", "text").iterator(chunk_size=5_000)
    return {"version": version.pk, "systems": []}, lines


def _systems(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    asked = settings.get("systems") or [{"method": "bm25"}]
    if not isinstance(asked, list) or not all(isinstance(each, Mapping) for each in asked):
        raise Refused('systems is a list of tables, such as { method = "bm25" }.')
    version, made = here.version, []
    for each in asked:
        config = {name: value for name, value in each.items() if name not in ("method", "name")}
        if "runs" in config:
            config["runs"] = [run.pk for run in here.systems(config["runs"])]
        pays = each.get("method") == "embeddings"
        made.append(
            computing.start(
                benchmark=here.benchmark,
                method=str(each.get("method", "bm25")),
                config=config,
                name=str(each.get("name", "")),
                version=None if "runs" in config else version,
                budget_usd=here.share(len(asked)) if pays else None,
                actor=here.actor,
            )
        )
    return made


def _ranked(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    made = [each.run for each in runs]
    known = [*here.left.get("systems", []), *(run.pk for run in made)]
    return {"systems": known}, [(run.name, run.digest) for run in made]


def _pool(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        start_build(
            benchmark=here.benchmark,
            runs=here.systems(settings.get("runs", ())),
            depth=settings.get("depth", 10),
            name=settings.get("name", ""),
            actor=here.actor,
        )
    ]


def _pooled(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    return _pairs(runs[0].pool)


def _pairs(pool: Pool) -> tuple[dict[str, Any], Lines]:
    rows = pool.entries.order_by("query__domain__name", "query__qid", "passage__pid", "pk")
    lines = rows.values_list("query__domain__name", "query__qid", "passage__pid")
    return {"pool": pool.pk, "pairs": pool.entries.count()}, lines.iterator()


def _planned(here: Here, settings: Settings, preset: str) -> Plan:
    pool = Pool.objects.get(pk=here.left["pool"])
    role = "judge" if preset == "filter" else "agents"
    return plan_run(
        benchmark=here.benchmark,
        pool=pool,
        endpoint=here.endpoint(settings, role),
        preset=preset,
        settings=settings.get("settings"),
        budget_usd=here.budget,
    )


def _filter(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [start_planned(plan=_planned(here, settings, "filter"), actor=here.actor)]


def _filtered(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    return _pairs(keep_pairs(run=runs[0], actor=here.actor))


def _debate(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    plan = _planned(here, settings, settings.get("preset", ""))
    return [start_planned(plan=plan, actor=here.actor)]


def _debated(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    run: DebateRun = runs[0]
    if settings.get("adopt") and run.is_trial and run.adopted_at is None:
        adopt_run(run=run, actor=here.actor)
    rows = Debate.objects.filter(run=run).order_by("query__qid", "passage__pid", "pk")
    lines = rows.values_list("query__domain__name", "query__qid", "passage__pid", "status", "label")
    return {"debate": run.pk}, lines.iterator()


def _forecast_debate(preset: str) -> Callable[[Here, Settings], dict[str, Any]]:
    def forecast(here: Here, settings: Settings) -> dict[str, Any]:
        if "pool" not in here.left:
            return {}
        told = forecast_plan(_planned(here, settings, preset or settings.get("preset", "")))
        return {"calls": _middle(told["calls"]), "usd": _middle(told["usd"])}

    return forecast


def _middle(span: Any) -> Any:
    """What is likely, of {low, likely, high}."""
    return span.get("likely") if isinstance(span, Mapping) else span


def _cases(here: Here) -> QuerySet[EscalationCase]:
    debates = Debate.objects.filter(run=here.left["debate"], case__isnull=False)
    # Of an aspect that was removed since nobody is asked any more.
    return EscalationCase.objects.filter(pk__in=debates.values("case"), aspect__removed_at=None)


def _people_wait(here: Here, settings: Settings) -> str:
    cases = _cases(here)
    total = cases.count()
    left = total - cases.filter(status=CaseStatus.CLOSED).count()
    return f"people, who have {left:,} of {total:,} disputed pairs to decide" if left else ""


def _decided(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    pairs = set(_cases(here).values_list("query", "passage"))
    found = Judgment.objects.standing().filter(
        query__in=_cases(here).values("query"), passage__in=_cases(here).values("passage")
    )
    rows = found.order_by("query__qid", "passage__pid", "pk")
    named = ("query__domain__name", "query__qid", "passage__pid", "source", "label")
    lines = rows.values_list("query", "passage", *named)
    return {}, [row[2:] for row in lines.iterator() if row[:2] in pairs]


def _queries_wait(states: Sequence[str], words: str) -> Callable[[Here, Settings], str]:
    def waits(here: Here, settings: Settings) -> str:
        total = Query.objects.in_benchmark(here.benchmark).filter(domain__is_ready=True).count()
        rows = Assignment.objects.in_benchmark(here.benchmark)
        done = rows.filter(state__in=states).count()
        wanted = settings.get("share", 1.0)
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 <= wanted <= 1:
            raise Refused("share is a number from 0 to 1.")
        if done >= round(wanted * total, 6):  # .28 * 25 is more than 7
            return ""
        return f"experts: {done:,} of {total:,} queries are {words}, {wanted:.0%} are wanted"

    return waits


def _annotated(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    own = Aspect.objects.filter(query__domain__benchmark=here.benchmark, removed_at=None)
    rows = own.order_by("query__domain__name", "query__qid", "k", "pk")
    lines = rows.values_list("query__domain__name", "query__qid", "k", "content", "weight")
    return {}, [[*row[:-1], float(row[-1])] for row in lines]


def _agents(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    chosen = here.systems(settings.get("runs", ()))
    own = set(agents.retrievers(here.benchmark).values_list("pk", flat=True))
    chosen = [run for run in chosen if run.pk in own or settings.get("runs")]
    if not chosen:
        raise Refused("No retrieval run was computed here, so agents have no index to search.")
    kept = {name: settings[name] for name in ("rounds", "repetitions") if name in settings}
    return [
        agents.start_agent(
            benchmark=here.benchmark,
            queries=_asked(here, settings),
            retriever=run,
            endpoint=here.endpoint(settings, agents.ROLE),
            actor=here.actor,
            budget_usd=here.share(len(chosen)),
            **kept,
        )
        for run in chosen
    ]


def _asked(here: Here, settings: Settings) -> QuerySet[Query]:
    kept = {name: settings[name] for name in ("domain", "sample") if name in settings}
    return agents.candidates(here.benchmark, **kept)


def _forecast_agents(here: Here, settings: Settings) -> dict[str, Any]:
    kept = {name: settings[name] for name in ("rounds", "repetitions") if name in settings}
    endpoint = here.endpoint(settings, agents.ROLE)
    one = agents.forecast(_asked(here, settings), endpoint, **kept)
    return _times(one, len(here.systems(settings.get("runs", ()))))


def _times(one: Mapping[str, Any], runs: int) -> dict[str, Any]:
    usd = one["usd"]
    return {"calls": one["calls"] * runs, "usd": None if usd is None else usd * runs}


def _found(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    lines = [
        (run.retriever, item.query.qid, item.repetition, item.turns, item.answers, item.state)
        for run in sorted(runs, key=lambda each: each.retriever)
        for item in run.items.select_related("query").order_by("query__qid", "repetition", "pk")
    ]
    # Verdicts of the agents before are none of these.
    left = {"agents": [run.pk for run in runs], "judges": []}
    return left, [[*row[:3], *map(_bare, row[3:])] for row in lines]


def _bare(value: Any) -> Any:
    """Without the numbers of calls, which are those of this installation's ledger."""
    if isinstance(value, Mapping):
        return {name: _bare(each) for name, each in value.items() if name not in ("call", "ms")}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _judge(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    runs = AgentRun.objects.filter(pk__in=here.left["agents"]).order_by("pk")
    kept = {name: settings[name] for name in ("mode", "repetitions") if name in settings}
    return [
        judging.start_judging(
            benchmark=here.benchmark,
            agent_run=run,
            endpoint=here.endpoint(settings, judging.ROLE),
            actor=here.actor,
            budget_usd=here.share(len(runs)),
            **kept,
        )
        for run in runs
    ]


def _judged(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    rows = AnswerVerdict.objects.filter(run__in=[run.pk for run in runs])
    named = ("run__agent_run__retriever", "item__query__qid", "round", "repetition")
    lines = rows.order_by(*named, "pk").values_list(*named, "state", "scores")
    return {"judges": [run.pk for run in runs]}, list(lines)


def _answers(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    kept = {name: settings[name] for name in ("harness", "k", "baselines", "domain")
            if name in settings}  # fmt: skip
    return [
        rag.start_answers(
            benchmark=here.benchmark,
            runs=here.systems(settings.get("runs", ())),
            endpoint=here.endpoint(settings, rag.ROLE),
            actor=here.actor,
            budget_usd=here.budget,
            **kept,
        )
    ]


def _forecast_answers(here: Here, settings: Settings) -> dict[str, Any]:
    harness = settings.get("harness", Harness.SHORT.value)
    if harness not in set(Harness):
        raise Refused("There is no such harness.")
    queries = rag.candidates(here.benchmark, harness=harness, domain=settings.get("domain", ""))
    told = rag.forecast(
        queries,
        here.endpoint(settings, rag.ROLE),
        runs=len(here.systems(settings.get("runs", ()))),
        harness=harness,
        k=settings.get("k", 10),
        baselines=settings.get("baselines", True),
    )
    return _times(told, 1)


def _answered(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    rows = RagAnswer.objects.filter(run=runs[0])
    named = ("source__kind", "source__retrieval_run__name", "query__qid")
    lines = rows.order_by(*named, "pk").values_list(*named, "state", "answers")
    return {"answers": runs[0].pk, "grades": None}, lines.iterator()


def _grade(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    run = RagRun.objects.get(pk=here.left["answers"])
    kept = {name: settings[name] for name in ("profile",) if name in settings}
    return [
        grading.start_grading(
            rag_run=run,
            endpoint=here.endpoint(settings, grading.ROLE),
            actor=here.actor,
            budget_usd=here.budget,
            **kept,
        )
    ]


def _graded(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    named = [f"answer__{each}" for each in ("source__kind", "source__retrieval_run__name")]
    rows = runs[0].grades.order_by(*named, "answer__query__qid", "pk")
    lines = rows.values_list(*named, "answer__query__qid", "state", "value")
    return {"grades": runs[0].pk}, lines.iterator()


def _release(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        start_release(
            benchmark=here.benchmark,
            actor=here.actor,
            version=settings.get("version") or suggested_version(here.benchmark),
            final=settings.get("final", False),
            agreement_bar=settings.get("agreement_bar"),
            corpus=here.version,
            chain=list(here.records),
        )
    ]


def _released(here: Here, settings: Settings, runs: Sequence[Any]) -> tuple[dict[str, Any], Lines]:
    return {"release": runs[0].pk}, sorted(runs[0].files.items())


KINDS: Final[Mapping[str, Kind]] = {
    "clean": Kind("Clean the corpus", _clean, _cleaned),
    "systems": Kind("Run the systems", _systems, _ranked),
    "pool": Kind("Pool what they found", _pool, _pooled),
    "filter": Kind("Filter the pool", _filter, _filtered, forecast=_forecast_debate("filter")),
    "debate": Kind("Debate the pairs", _debate, _debated, forecast=_forecast_debate("")),
    "people": Kind("People decide disputes", _nothing, _decided, _people_wait),
    "aspects": Kind(
        "Experts write aspects", _nothing, _annotated, _queries_wait(HANDED_IN, "submitted")
    ),
    "review": Kind(
        "Second reviews",
        _nothing,
        _annotated,
        _queries_wait((WorkState.ACCEPTED, WorkState.ANSWERED), "accepted"),
    ),
    "agents": Kind("Search agents", _agents, _found, forecast=_forecast_agents),
    "judge": Kind("Judge their answers", _judge, _judged),
    "answers": Kind("Answer from what was found", _answers, _answered, forecast=_forecast_answers),
    "grade": Kind("Grade these answers", _grade, _graded),
    "release": Kind("Release", _release, _released),
}


def problem_of(runs: Iterator[Any] | Sequence[Any]) -> str:
    """Why the runs of a step cannot go on without a person, in words; "" where they can."""
    for run in runs:
        if run.status in (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.PAUSED):
            why = getattr(run, "pause_reason", "") or run.error
            told = f": {why}" if why else "."
            return f"a person: {run._meta.verbose_name} “{run}” is {run.status}{told}"
    return ""
