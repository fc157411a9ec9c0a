"""The experiments of docs/protocol.md 2.8 by name: what each changes, what DREAM published.

They are made to be run over the same pool. Where two of them ask a model the same thing, the
answer is paid for once: the ledger replays it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import F, Sum

from corpus.models import Pool
from debate.baselines.lara import BUDGETS
from debate.baselines.votes import votes_for
from debate.models import DebateRun, RunKind, Turn
from debate.runs.configuration import LaraOptions, ModelChoice, RunConfig
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints

DEFAULT_VOTES: Final = 3
VOTE_TEMPERATURE: Final = 0.6

Make = Callable[[Sequence[ModelChoice]], RunConfig]


@dataclass(frozen=True)
class Preset:
    """`published`: balanced accuracy and escalation ratio in DREAM, where it was measured.

    `models` is how many models it needs, the main one first.
    """

    name: str
    changes: str
    published: str
    make: Make
    models: int = 1


def _debate(**changes: Any) -> Make:
    return lambda models: RunConfig(agents=(models[0],) * 2, **changes)


def _ruled(rounds: int) -> Make:
    def make(models: Sequence[ModelChoice]) -> RunConfig:
        return RunConfig(agents=(models[0],) * 2, rounds=rounds, adjudicator=models[0])

    return make


def _seats(order: str) -> Make:
    """Agents by letter, stances alternating: L is the main model, Q the other one."""

    def make(models: Sequence[ModelChoice]) -> RunConfig:
        place = {"L": 0, "Q": 1}
        return RunConfig(agents=tuple(models[place[letter]] for letter in order))

    return make


def _judge(kind: str, **changes: Any) -> Make:
    return lambda models: RunConfig(kind=kind, agents=(models[0],), **changes)


def _lara(variant: str, budget: float) -> Make:
    return _judge(RunKind.LARA, lara=LaraOptions(variant=variant, budget=budget))


def _filter(models: Sequence[ModelChoice]) -> RunConfig:
    three = [models[place % len(models)] for place in range(3)]
    return RunConfig(kind=RunKind.FILTER, agents=tuple(three))


def _people(models: Sequence[ModelChoice]) -> RunConfig:
    del models
    return RunConfig(kind=RunKind.HUMAN_ONLY)


_VOTES = _judge(RunKind.VOTE, samples=DEFAULT_VOTES, temperature=VOTE_TEMPERATURE)
_ALL_VOTES = _judge(
    RunKind.VOTE, samples=DEFAULT_VOTES, temperature=VOTE_TEMPERATURE, rule="unanimity"
)
_LARA_PUBLISHED: Final = ("82.1 %", "83.9 %", "87.8 %", "96.3 %")

_TABLE: Final = (
    Preset("llmjudge", "one model, one call", "73.9 %, 0 %", _judge(RunKind.LLMJUDGE)),
    Preset("graded", "one model grades 0 to 3, relevant from 2", "", _judge(RunKind.GRADED)),
    *(
        Preset(
            f"lara@{100 * budget:g}",
            f"people label the {100 * budget:g} % that are least certain",
            f"{published}, {100 * budget:g} %",
            _lara("lara_reference", budget),
        )
        for budget, published in zip(BUDGETS, _LARA_PUBLISHED, strict=True)
    ),
    *(
        Preset(
            f"lara-logistic@{100 * budget:g}",
            f"the same with a refitted logistic regression, {100 * budget:g} %",
            "",
            _lara("lara_logistic", budget),
        )
        for budget in BUDGETS
    ),
    Preset("human-only", "three votes on every pair", "93.8 %, 100 %", _people),
    Preset("dream", "two agents, two rounds, people for the rest", "95.2 %, 3.5 %", _debate()),
    Preset("rounds-1+adjudicator", "one round, then an adjudicator", "90.0 % of all", _ruled(1)),
    Preset("rounds-2+adjudicator", "two rounds, then an adjudicator", "93.3 % of all", _ruled(2)),
    Preset("rounds-3+adjudicator", "three rounds, then an adjudicator", "93.2 % of all", _ruled(3)),
    Preset("rounds-2+human", "two rounds, then people", "95.1 % of all", _debate()),
    Preset("agents-4", "four agents, two of each stance", "94.3 %, 11.2 %", _seats("LLLL")),
    Preset("agents-2+2", "two agents of each model", "94.7 %, 13.0 %", _seats("LLQQ"), models=2),
    Preset("agents-other", "both agents of the other model", "89.0 %, 2.6 %", _seats("QQ"), 2),
    Preset("agents-main+other", "the other opens irrelevant", "92.3 %, 6.6 %", _seats("LQ"), 2),
    Preset("agents-other+main", "the other opens relevant", "93.7 %, 6.5 %", _seats("QL"), 2),
    Preset("temperature-0", "temperature 0", "95.2 %, 3.5 %", _debate()),
    Preset("temperature-0.6", "temperature 0.6", "93.1 %, 3.8 %", _debate(temperature=0.6)),
    Preset("temperature-1", "temperature 1.0", "92.6 %, 3.1 %", _debate(temperature=1.0)),
    Preset("stance-rf", "agent A opens relevant", "95.2 %, 3.8 %", _debate()),
    Preset("stance-if", "agent A opens irrelevant", "93.7 %, 4.4 %", _debate(first="irrelevant")),
    Preset("with-history", "people see the debate", "92.0 % of people", _debate()),
    Preset(
        "without-history",
        "people see the passage alone",
        "87.3 % of people",
        _debate(history_for_people=False),
    ),
    Preset(
        "persistence",
        "agreed pairs are debated on to round 5",
        "96.5, 96.2, 96.2, 96.0 % still agree",
        _debate(continue_to=5),
    ),
    Preset("vote-majority", "as many single judgments as the debate costs", "", _VOTES),
    Preset("vote-unanimity", "the same, all of them agreed", "", _ALL_VOTES),
    Preset("filter", "three models, discarded only if all say so", "", _filter),
)
PRESETS: Final[dict[str, Preset]] = {preset.name: preset for preset in _TABLE}


def preset_config(name: str, *, models: Sequence[ModelChoice]) -> RunConfig:
    """The configuration of a preset with these models, the main one first.

    A trial, except where people judge alone: to bring the pairs before them is all it does.

    Raises Refused for an unknown name, or for a preset that needs more models.
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise Refused(
            f"There is no preset {name!r}; there are {', '.join(PRESETS)}.", field="preset"
        )
    if len(models) < preset.models:
        raise Refused(
            f"The preset {name} compares {preset.models} models; name them all.", field="agents"
        )
    config = preset.make(models)
    if config.adjudicator and (ruling := endpoints.named_for("adjudicator")):
        config = replace(config, adjudicator=ModelChoice(ruling.default_model, ruling.name))
    return replace(config, trial=config.kind != RunKind.HUMAN_ONLY, preset=name)


def preset_kind(name: str) -> str:
    """The kind of run that a preset is; raises Refused for an unknown name."""
    blank = ModelChoice("model", "endpoint")
    return preset_config(name, models=[blank] * 2).kind


def equal_votes(pool: Pool) -> int | None:
    """How many votes cost about what a pair's debate did; None before a plain one is done.

    A vote is taken to cost what a turn of the first round does: the rules are the same, and a
    history as short as the opening positions is all that it lacks.
    """
    plain = {"kind": RunKind.DEBATE, "status": RunStatus.DONE, "config__continue_to": 0}
    run = DebateRun.objects.filter(pool=pool, **plain).order_by("-pk").first()
    if run is None:
        return None
    turns = Turn.objects.filter(debate__run=run, call__output_tokens__isnull=False)
    spent = turns.aggregate(tokens=Sum(F("call__input_tokens") + F("call__output_tokens")))
    pairs = turns.values("debate").distinct().count()
    first = turns.filter(round=1)
    opening = first.aggregate(tokens=Sum(F("call__input_tokens") + F("call__output_tokens")))
    if not (pairs and opening["tokens"]):
        return None
    return votes_for(spent["tokens"] / pairs, opening["tokens"] / first.count())
