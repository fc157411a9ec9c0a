"""Setting a pipeline up, what it would take, and what people do about it."""

from dataclasses import asdict
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.db import transaction

from corpus.computing import services as computing
from corpus.lists import unused_name
from corpus.models import Benchmark, ExpansionRun, RerankRun, RetrievalRun, RunComputation
from corpus.reranking import services as reranking
from corpus.versions.services import stored
from corpus.wordings import asking
from corpus.wordings import services as wordings
from evaluation.pipelines import plan
from evaluation.pipelines.models import PipelineRun
from kit.errors import Refused
from kit.runs.models import RunStatus, wake
from kit.runs.models import begin as begin_run
from kit.runs.moves import cancel_run, move_run, note, pause_run, resume_run
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.accounts import PayingRun, check_budget

Child: TypeAlias = ExpansionRun | RunComputation | RerankRun
_MODELS: Final[dict[str, type[Any]]] = {
    plan.EXPAND: ExpansionRun,
    plan.COMPUTE: RunComputation,
    plan.HYBRID: RunComputation,
    **dict.fromkeys(plan.RERANKS, RerankRun),
}


def start_pipeline(
    *,
    benchmark: Benchmark,
    preset: str,
    retriever: RetrievalRun,
    expander: Endpoint | None,
    reranker: Endpoint | None,
    actor: User | None,
    profile: str = asking.STRICT,
    depth: int = 100,
    repeats: int | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> PipelineRun:
    """Run a version of DIVER on a retriever, and wake a worker.

    `depth` is how many passages are reranked, `repeats` how often in groups, None as the profile
    has it. `claimed` keeps it for the calling process. Raises Refused, naming the field.
    """
    wordings.check_retriever(retriever, asking.QEXPAND)
    steps = plan.steps_of(_known(preset), is_bm25=is_bm25(retriever))
    asked = _checked(expander, reranker)
    _configs(retriever, steps, profile, depth, repeats)
    check_budget(budget_usd, [(each.name, each.default_model) for each in asked])
    taken = benchmark.pipelines.values_list("name", flat=True)
    label = (name.strip() or plan.TITLES[preset])[:140]
    with transaction.atomic():
        run = PipelineRun.objects.create(
            benchmark=benchmark,
            name=unused_name(label, {*taken, *reranking.names_taken(benchmark, retriever)}),
            preset=preset,
            retriever=retriever,
            config={
                "profile": profile,
                "depth": depth,
                **({} if repeats is None else {"repeats": repeats}),
                "expander": asked[0].name,
                "reranker": asked[1].name,
            },
            steps=[asdict(each) | {"child": None, "run": None} for each in steps],
            budget_usd=budget_usd,
            practice=any(each.is_practice for each in asked)
            or bool(retriever.provenance.get("practice")),
            total=len(steps),
            created_by=actor,
        )
        note(run, actor, "start pipeline", preset=preset, retriever=retriever.pk)
        begin_run(run, claimed=claimed)
    return run


def is_bm25(retriever: RetrievalRun) -> bool:
    """Whether a hybrid with BM25 would be one with itself."""
    return bool(retriever.provenance.get("method") == "bm25")


def forecast(
    benchmark: Benchmark,
    preset: str,
    retriever: RetrievalRun,
    expander: Endpoint | None,
    reranker: Endpoint | None,
    *,
    profile: str = asking.STRICT,
    depth: int = 100,
    repeats: int | None = None,
) -> dict[str, Any]:
    """What a pipeline is likely to take: its expansion and its rerankings together; `usd` is None
    where one of them has no known price."""
    steps = plan.steps_of(_known(preset), is_bm25=is_bm25(retriever))
    found = []
    for kind, config in _configs(retriever, steps, profile, depth, repeats):
        if kind == plan.EXPAND:
            told = wordings.forecast(benchmark, asking.QEXPAND, expander, config)
        else:
            asked = reranker if reranking.role_of(kind) else None
            told = reranking.forecast(retriever, kind, asked, config)
        found.append(told)
    total: dict[str, Any] = {"queries": found[0]["queries"]}
    for name in ("calls", "input_tokens", "output_tokens"):
        total[name] = sum(each[name] for each in found)
    known = [each["usd"] for each in found]
    return total | {"usd": None if None in known else sum(known, Decimal(0))}


def child_of(step: dict[str, Any]) -> Child | None:
    """The run of a step; None before it is begun."""
    rows = _MODELS[step["kind"]].objects.filter(pk=step["child"] or 0)
    child: Child | None = rows.select_related("run").first()
    return child


def begin(run: PipelineRun, step: dict[str, Any]) -> Child:
    """Start a step whose predecessors are done; in a transaction of the caller. Raises Refused."""
    made = {each["name"]: each for each in run.steps}
    runs = [
        run.retriever if name == plan.RETRIEVER else RetrievalRun.objects.get(pk=made[name]["run"])
        for name in step["of"]
    ]
    kind, config, actor = step["kind"], run.config, run.created_by
    is_last = step["name"] == run.steps[-1]["name"]
    named: dict[str, Any] = {"benchmark": run.benchmark, "actor": actor}
    name = run.name if is_last else f"{run.name}, {step['name']}"
    if kind == plan.EXPAND:
        return wordings.start_expansion(
            **named,
            name=name,
            method=asking.QEXPAND,
            retriever=runs[0],
            endpoint=endpoints.get(config["expander"]),
            budget_usd=_left(run),
            profile=config["profile"],
        )
    if kind in (plan.COMPUTE, plan.HYBRID):
        taken = reranking.names_taken(run.benchmark, run.retriever)
        if kind == plan.HYBRID:
            how: dict[str, Any] = {"method": "hybrid", "config": {"runs": [e.pk for e in runs]}}
        else:
            source = ExpansionRun.objects.get(pk=made[step["of"][0]]["child"]).source_id
            version = stored(run.benchmark, run.retriever.corpus_version_id)
            how = {"method": "bm25", "config": {"queries": source}, "version": version}
        return computing.start(**named, name=unused_name(name, taken), **how)
    asks = bool(reranking.role_of(kind))
    options = _reranked(kind, config["profile"], config["depth"], config.get("repeats"))
    return reranking.start_rerank(
        **named,
        name=name,
        method=kind,
        source=runs[0],
        second=runs[1] if kind == plan.MERGE else None,
        endpoint=endpoints.get(config["reranker"]) if asks else None,
        budget_usd=_left(run) if asks else None,
        **options,
    )


def spent(run: PipelineRun) -> Decimal:
    """What its steps have cost so far, with what is held for calls under way; runs of steps that
    were cancelled and begun anew cost what they cost."""
    known = [
        (step, pk) for step in run.steps for pk in (*step.get("dropped", ()), step["child"]) if pk
    ]
    children = [child_of(step | {"child": pk}) for step, pk in known]
    paid = [each for each in children if isinstance(each, PayingRun)]
    return sum((each.spent_usd + each.reserved_usd for each in paid), Decimal(0))


def pause(*, run: PipelineRun, actor: User | None) -> None:
    """Stop it with the step that it is at."""
    with transaction.atomic():
        pause_run(run=run, actor=actor)
        for child in _open(run):
            if child.can_pause and not isinstance(child, RunComputation):
                pause_run(run=child, actor=actor)


def resume(*, run: PipelineRun, actor: User | None) -> None:
    """Go on, with the step that stopped: its failed queries are tried again, one that was cancelled
    is begun anew."""
    with transaction.atomic():
        for child in _open(run):
            if child.status == RunStatus.FAILED and not isinstance(child, RunComputation):
                retry: Any = wordings if isinstance(child, ExpansionRun) else reranking
                if child.items.filter(state="failed").exists():
                    retry.retry_failed(run=child, actor=actor)
                    continue
            if child.can_resume:
                resume_run(run=child, actor=actor, error="")
        for step in run.begun:
            made = child_of(step)
            if made is not None and made.status == RunStatus.CANCELLED:
                step.setdefault("dropped", []).append(made.pk)
                step["child"] = None  # begun anew
        fields = {"error": "", "steps": run.steps}
        move_run(run, RunStatus.QUEUED, actor=actor, verb="resume pipeline", **fields)
        wake(run)


def cancel(*, run: PipelineRun, actor: User | None) -> None:
    """Stop for good, the step that it is at too; runs that are done stay."""
    with transaction.atomic():
        cancel_run(run=run, actor=actor)
        for child in _open(run):
            if child.can_cancel:
                cancel_run(run=child, actor=actor)


def _open(run: PipelineRun) -> list[Child]:
    children = [child_of(each) for each in run.begun if not each["run"]]
    return [each for each in children if each is not None]


def _left(run: PipelineRun) -> Decimal | None:
    if run.budget_usd is None:
        return None
    cents = (run.budget_usd - spent(run)).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
    return max(Decimal(0), cents)


def _configs(
    retriever: RetrievalRun,
    steps: tuple[plan.Step, ...],
    profile: str,
    depth: int,
    repeats: int | None,
) -> list[tuple[str, dict[str, Any]]]:
    """What the steps that take settings are frozen to. Raises Refused, naming the field."""
    if repeats is not None and plan.GROUPWISE not in {each.kind for each in steps}:
        raise Refused("Only v3 reranks in groups, which can be repeated.", field="repeats")
    found = []
    for each in steps:
        if each.kind == plan.EXPAND:
            config = wordings.checked_config(asking.QEXPAND, {"profile": profile})
            found.append((each.kind, config))
        elif each.kind in plan.RERANKS and each.kind != plan.MERGE:
            options = _reranked(each.kind, profile, depth, repeats)
            found.append((each.kind, reranking.checked_config(retriever, each.kind, options)))
    return found


def _reranked(kind: str, profile: str, depth: int, repeats: int | None) -> dict[str, Any]:
    """The options of a step that reranks."""
    options: dict[str, Any] = {"depth": depth}
    if reranking.role_of(kind):
        options["parser"] = profile
    if kind == plan.GROUPWISE:
        options["repeats"] = repeats
    return options


def _checked(expander: Endpoint | None, reranker: Endpoint | None) -> tuple[Endpoint, Endpoint]:
    if expander is None or reranker is None:
        name = "expander" if expander is None else "reranker"
        raise Refused("A pipeline asks models: choose an endpoint.", field=name)
    return (
        endpoints.in_role(expander, wordings.ROLE),
        endpoints.in_role(reranker, reranking.role_of(plan.POINTWISE)),
    )


def _known(preset: str) -> str:
    if preset not in plan.PRESETS:
        raise Refused(f"There is no version {preset!r}: {', '.join(plan.PRESETS)}.", field="preset")
    return preset
