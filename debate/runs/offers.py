"""The models that a run could ask, where several are offered: prices, and how right they were."""

from dataclasses import replace
from typing import Any, Final

from django.core.cache import cache

from corpus.models import Benchmark, Judgment
from debate.references import against_known_labels
from debate.runs.configuration import role_of
from debate.runs.forecast import costs_of_plan
from debate.runs.planning import Plan
from kit.runs.models import RunStatus
from llm import endpoints
from llm.endpoints import Endpoint

PER: Final = 1_000
_MOST_RUNS: Final = 50
_KEPT_SECONDS: Final = 600


def offers(plan: Plan) -> list[dict[str, Any]]:
    """Each endpoint's model as if all agents of the plan were it; none where one alone is offered.

    `usd` is a range for 1,000 pairs, None without a price. `accuracy` is the balanced accuracy of
    the model's newest finished `run` of the kind in this benchmark, on the `known` labels of its
    pairs (people's, else the imported gold); None where there is no such run or label.
    """
    found = endpoints.available(role_of(plan.config.kind))
    return [_offer(plan, each) for each in found] if len(found) > 1 and plan.config.agents else []


def _offer(plan: Plan, endpoint: Endpoint) -> dict[str, Any]:
    name, model = endpoint.name, endpoint.default_model
    agents = tuple(replace(each, model=model, endpoint=name) for each in plan.config.agents)
    told = costs_of_plan(replace(plan, config=replace(plan.config, agents=agents)))
    usd, pairs = told["usd"], told["pairs"]
    return {
        "endpoint": name,
        "model": model,
        "practice": endpoint.is_practice,
        "usd": {end: PER * total / pairs for end, total in usd.items()} if usd and pairs else None,
        "is_measured": told["is_measured"],
        **_accuracy(plan.benchmark, plan.config.kind, endpoint),
    }


def _accuracy(benchmark: Benchmark, kind: str, endpoint: Endpoint) -> dict[str, Any]:
    """How right the model was here, counted anew when a label is new."""
    runs = benchmark.debate_runs.filter(
        kind=kind, status=RunStatus.DONE, model=endpoint.default_model, endpoint=endpoint.name
    )
    alone = {(endpoint.default_model, endpoint.name)}
    for run in runs.select_related("pool", "benchmark").order_by("-pk")[:_MOST_RUNS]:
        agents = run.config.get("agents") or []
        if {(each["model"], each["endpoint"]) for each in agents} == alone:
            break
    else:
        return {"accuracy": None, "known": 0, "run": None}
    newest = Judgment.objects.order_by("-pk").values_list("pk", flat=True).first()

    def count() -> dict[str, Any]:
        own = against_known_labels(run).labelled
        found = own.balanced
        ends = {"value": found.value, "low": found.low, "high": found.high}
        return {"accuracy": ends, "known": own.relevant.n + own.irrelevant.n, "run": run.pk}

    kept = cache.get_or_set(f"right:{run.pk}:{newest}", count, _KEPT_SECONDS) or count()
    return kept if kept["accuracy"]["value"] is not None else kept | {"accuracy": None}
