"""From what a person asked for to the frozen plan of a run: one way for screens, API and shell."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef

from annotate.models import EscalationCase, SupportLabel, VotingPlan
from corpus.models import Benchmark, Judgment, Pool, PoolEntry
from debate.models import Debate, DebateRun, RunKind
from debate.runs.configuration import (
    ASPECTS,
    STANCES,
    BadConfig,
    ModelChoice,
    RunConfig,
    amended,
    as_json,
    role_of,
)
from debate.runs.kinds import prompts_of
from debate.runs.presets import DEFAULT_VOTES, PRESETS, equal_votes, preset_config, preset_kind
from debate.runs.prompts import prompt_numbered
from debate.runs.services import about_of, check_pool, name_models, start_run
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.accounts import check_budget
from llm.prompts import PromptTemplate

_SETTINGS: Final = tuple(each.name for each in fields(RunConfig))
# How a run is checked: it costs calls, and changes no label of its pairs.
CHECKS: Final = ("audit", "decoys", "canaries")
# What may differ from a preset without the run being another experiment.
_NOT_COMPARED: Final = frozenset(
    {"about", "agents", "adjudicator", "trial", "preset", "max_tokens", "samples", *CHECKS}
)


# Runs of these states still debate the pairs that wait in them.
_GOING: Final = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)


def pairs_left(benchmark: Benchmark, *, pool: Pool | None = None) -> dict[int, int]:
    """How many pairs of each pool (or of `pool`), by its key, nobody has judged and no run holds.

    A pair is left where it has no standing label since the import, no case before people, and does
    not wait in a run that goes on. Labels on trial and of the practice model do not count.
    """
    of_pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    waits = Debate.objects.waiting().filter(run__status__in=_GOING, **of_pair)
    cases = EscalationCase.objects.of_voters().filter(**of_pair)
    pools = [pool] if pool else benchmark.pools.all()
    pairs = PoolEntry.objects.order_by().filter(
        ~Exists(Judgment.objects.standing().filter(practice=False, **of_pair)),
        ~Exists(cases.about_pairs()),
        ~Exists(waits.filter(aspect=None)),
        aspect=None,
        pool__in=pools,
    )
    same = {"aspect__k": OuterRef("aspect")}
    support = SupportLabel.objects.standing().filter(
        aspect__query=OuterRef("query"), passage=OuterRef("passage"), practice=False, **same
    )
    of_aspects = PoolEntry.objects.order_by().filter(
        ~Exists(support),
        ~Exists(cases.filter(**same)),
        ~Exists(waits.filter(**same)),
        pool__of_aspects=True,
        pool__in=pools,
    )
    return {
        key: count
        for rows in (pairs, of_aspects)
        for key, count in rows.values_list("pool").annotate(Count("pk"))
    }


def default_pool(benchmark: Benchmark, left: Mapping[int, int]) -> Pool | None:
    """The newest pool with pairs left; else that of the models' newest run, of one that is no trial
    before others, else the newest."""
    pools = benchmark.pools.all()
    runs = benchmark.debate_runs.exclude(kind=RunKind.HUMAN_ONLY)
    run = runs.select_related("pool").order_by("is_trial", "-pk").first()
    return pools.filter(pk__in=left).first() or (run.pool if run else pools.first())


@dataclass(frozen=True)
class Plan:
    """A run as it would be: every model named, every setting checked, nothing stored yet."""

    benchmark: Benchmark
    pool: Pool
    endpoint: Endpoint
    config: RunConfig
    prompts: Mapping[str, PromptTemplate]
    prompt_version: int | None = None
    name: str = ""
    budget_usd: Decimal | None = None

    @property
    def digest(self) -> str:
        """Changes with whatever a forecast depends on, and with the budget it is compared with."""
        data = [
            self.pool.pk,
            as_json(self.config),
            {role: prompt.sha256 for role, prompt in self.prompts.items()},
            None if self.budget_usd is None else f"{self.budget_usd:.2f}",
        ]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def departures(self) -> list[str]:
        """Settings in which the plan is other than the preset that it bears the name of."""
        return departures(self.config)


def plan_run(
    *,
    benchmark: Benchmark,
    pool: Pool,
    endpoint: Endpoint,
    preset: str = "",
    models: Sequence[ModelChoice | Mapping[str, str]] = (),
    settings: Mapping[str, Any] | None = None,
    prompt_version: int | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
) -> Plan:
    """The plan of a run from a preset, with single settings changed, or by hand.

    `models`: those of the preset, the main one first; without a preset the agents themselves.
    `settings` are named as RunConfig names them, in the frozen form: agents and the adjudicator
    as {"model", "endpoint", "stance"}, where an endpoint that is left out is `endpoint` and a
    model its own, or that of the kind's role there. Raises Refused, naming the field, for
    whatever `start_planned` would refuse. A debate that does not say how many pairs are audited
    has those of the voting plan.
    """
    given = dict(settings or {}) | {"about": about_of(pool)}
    if given["about"] == ASPECTS:
        given.setdefault("trial", False)  # which presets are otherwise
    if not preset and given.get("kind", RunKind.DEBATE) == RunKind.DEBATE:
        given.setdefault("audit", VotingPlan.objects.current(benchmark).audit)
    if _kind(preset, given) != RunKind.DEBATE:
        given.setdefault("first", STANCES[0])  # which a preset of debates may have otherwise
    endpoint = endpoints.in_role(endpoint, role_of(_kind(preset, given)))
    if isinstance(given.get("agents"), list | tuple):  # anything else is refused below
        given["agents"] = [_choice(each, endpoint, "agents") for each in given["agents"]]
    if given.get("adjudicator"):
        ruling = endpoints.named_for("adjudicator") or endpoint
        given["adjudicator"] = _choice(given["adjudicator"], ruling, "adjudicator")
    named = [
        each if isinstance(each, ModelChoice) else ModelChoice(**_choice(each, endpoint, "models"))
        for each in models
    ]
    config = _base(preset, named, endpoint, pool, given)
    try:
        config = amended(config, given)
    except BadConfig as fault:
        raise Refused(str(fault), field=fault.field) from None
    config = name_models(config, endpoint)
    _need_others(config)
    check_pool(benchmark, pool, config)
    version, prompt = prompt_numbered(benchmark, prompt_version)
    check_budget(budget_usd, [(choice.endpoint, choice.model) for choice in config.everybody])
    return Plan(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoint,
        config=config,
        prompts=prompts_of(config, debate_turn=prompt),
        prompt_version=version if config.kind == RunKind.DEBATE else None,
        name=name.strip(),
        budget_usd=budget_usd,
    )


def start_planned(*, plan: Plan, actor: User | None, claimed: bool = False) -> DebateRun:
    """Make the run and wake a worker; otherwise as `start_run`."""
    return start_run(
        benchmark=plan.benchmark,
        pool=plan.pool,
        endpoint=plan.endpoint,
        actor=actor,
        name=plan.name,
        config=plan.config,
        prompt_version=plan.prompt_version,
        budget_usd=plan.budget_usd,
        claimed=claimed,
    )


def departures(config: RunConfig) -> list[str]:
    """Names of settings in which a configuration differs from the preset that it is named after.

    Models, the number of votes and whether it is a trial are a run's own matter.
    """
    if config.preset not in PRESETS:
        return []
    models = list(dict.fromkeys(replace(choice, stance="") for choice in config.agents))
    blank = ModelChoice("model", "endpoint")
    preset = preset_config(config.preset, models=[*models, blank, blank][:3])
    changed = [
        name
        for name in _SETTINGS
        if name not in _NOT_COMPARED and getattr(preset, name) != getattr(config, name)
    ]
    if (preset.adjudicator is None) != (config.adjudicator is None):
        changed.append("adjudicator")
    return changed


def _kind(preset: str, given: Mapping[str, Any]) -> str:
    """What kind of run it will be; whatever is no kind is refused later."""
    if "kind" in given or preset not in PRESETS:
        return str(given.get("kind", RunKind.DEBATE))
    return preset_kind(preset)


def _base(
    preset: str,
    models: Sequence[ModelChoice],
    endpoint: Endpoint,
    pool: Pool,
    given: Mapping[str, Any],
) -> RunConfig:
    """The preset's configuration, or the plain one with these models."""
    if not preset:
        return RunConfig(agents=tuple(models))
    if preset not in PRESETS:
        preset_config(preset, models=models)  # raises with the names there are
    own = list(models) or [ModelChoice(endpoint.default_model, endpoint.name)]
    if "agents" in given:  # each of them is named: the preset's places for them do not count
        own += [own[0]] * max(0, PRESETS[preset].models - len(own))
    config = preset_config(preset, models=own)
    if config.kind == RunKind.VOTE and "samples" not in given:
        config = replace(config, samples=equal_votes(pool) or DEFAULT_VOTES)
    return config


def _need_others(config: RunConfig) -> None:
    """A preset that compares models is no such experiment with a single one."""
    preset = PRESETS.get(config.preset)
    asked = {(choice.endpoint, choice.model) for choice in config.agents}
    if preset and preset.name in _MIXED and len(asked) < preset.models:
        words = f"The preset {preset.name} compares {preset.models} models; name them all."
        raise Refused(words, field="agents")


_MIXED = frozenset({"agents-2+2", "agents-main+other", "agents-other+main"})


def _choice(value: Any, default: Endpoint, field: str) -> Any:
    """A model choice with its endpoint and model filled in; anything else is left to the check."""
    if not isinstance(value, Mapping):
        return value
    name = value.get("endpoint") or default.name
    found = default if name == default.name else endpoints.get(name, field=field)
    return {**value, "endpoint": name, "model": value.get("model") or found.default_model}
