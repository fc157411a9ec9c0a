"""From a run's frozen configuration to the rule that its pairs are put through.

A rule is a function (pair, key) -> steps (debate.dream.asking): the pump drives them all alike.
A new kind of run is a generator in a pure package and a line in `_RULES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

from debate import baselines, dream
from debate.baselines import JudgeConfig, line_up_judges
from debate.baselines.support import load_prompt as load_judge_prompt
from debate.dream.prompting import PROMPTS
from debate.models import DebateRun, RunKind
from debate.runs.configuration import RunConfig, Seat, read_config
from debate.trials.prompts import PromptGone, prompt_with
from llm.prompts import PromptTemplate

# The prompts of each kind, the main one first.
ROLES: Final[dict[str, tuple[str, ...]]] = {
    RunKind.DEBATE: ("debate_turn",),
    RunKind.FILTER: ("is_supported",),
    RunKind.LLMJUDGE: ("is_supported",),
    RunKind.GRADED: ("graded",),
    RunKind.VOTE: ("solo_turn",),
    RunKind.LARA: ("relevance", "relevance_confidence"),
    RunKind.HUMAN_ONLY: (),
}
_RULES: Final[dict[str, Callable[[dream.Pair, JudgeConfig, bytes], dream.Steps]]] = {
    RunKind.FILTER: baselines.keep_or_discard,
    RunKind.LLMJUDGE: baselines.single_judge,
    RunKind.GRADED: baselines.graded,
    RunKind.VOTE: baselines.vote,
    RunKind.LARA: baselines.measure,
    RunKind.HUMAN_ONLY: baselines.human_only,
}


@dataclass(frozen=True)
class Rule:
    """What a run does with a pair; `model` is the first that it asks, for words about failures."""

    begin: Callable[[dream.Pair, bytes], dream.Steps]
    model: str


def rule_of(run: DebateRun) -> Rule:
    """The rule of a run. Raises PromptGone where a prompt changed since it was made."""
    return replace(rule_with(config_of(run), _frozen_prompts(run)), model=run.model)


def rule_with(config: RunConfig, prompts: Mapping[str, PromptTemplate]) -> Rule:
    """The rule of a configuration whose seats are taken, asking with these prompts."""
    model = config.agents[0].model if config.agents else ""
    if config.kind == RunKind.DEBATE:
        return Rule(partial(_debate, config=_debate_config(config, prompts)), model)
    judges = _judge_config(config, prompts)
    return Rule(partial(_judge, rule=_RULES[config.kind], config=judges), model)


def debate_config(run: DebateRun) -> dream.Config:
    """How a debate run debates. Raises PromptGone, and ValueError for a run of another kind."""
    if run.kind != RunKind.DEBATE:
        raise ValueError(f"Run {run.pk} is no debate.")
    return _debate_config(config_of(run), _frozen_prompts(run))


def _frozen_prompts(run: DebateRun) -> dict[str, PromptTemplate]:
    """The prompts that the run was made with, by role."""
    config = config_of(run)
    is_debate = config.kind == RunKind.DEBATE
    own = prompt_with(run.benchmark, run.prompt_sha256) if is_debate else None
    prompts = prompts_of(config, debate_turn=own)
    main = dict.fromkeys(list(prompts)[:1], run.prompt_sha256)
    frozen: dict[str, str] = run.config.get("prompts", {}) | main
    if any(prompts[name].sha256 != sha256 for name, sha256 in frozen.items()):
        raise PromptGone(f"A prompt of run {run.pk} changed.")
    return prompts


def config_of(run: DebateRun) -> RunConfig:
    """The run's configuration; one that was made without has the columns' values."""
    frozen = {name: value for name, value in run.config.items() if name != "prompts"}
    if frozen:
        return read_config(frozen)
    plain = RunConfig(kind=run.kind, rounds=run.rounds, temperature=run.temperature)
    return plain.seated(run.model, run.endpoint)


def prompts_of(
    config: RunConfig, *, debate_turn: PromptTemplate | None = None
) -> dict[str, PromptTemplate]:
    """The prompts that a run of this configuration asks with, by role, the main one first.

    `debate_turn` takes the place of the debate prompt that comes with the app.
    """
    roles = ROLES[config.kind] + (("adjudication",) if config.adjudicator else ())
    prompts = {role: _prompt(role) for role in roles}
    if debate_turn and "debate_turn" in prompts:
        prompts["debate_turn"] = debate_turn
    return prompts


@cache
def _prompt(role: str) -> PromptTemplate:
    own = {"debate_turn": dream.default_prompt, "adjudication": dream.adjudication_prompt}
    return own[role]() if role in own else load_judge_prompt(PROMPTS / f"{role}.txt")


def _debate(pair: dream.Pair, key: bytes, *, config: dream.Config) -> dream.Steps:
    return dream.debate(pair, config, key)


def _judge(
    pair: dream.Pair,
    key: bytes,
    *,
    rule: Callable[[dream.Pair, JudgeConfig, bytes], dream.Steps],
    config: JudgeConfig,
) -> dream.Steps:
    return rule(pair, config, key)


def _debate_config(config: RunConfig, prompts: Mapping[str, PromptTemplate]) -> dream.Config:
    judge = config.adjudicator
    return dream.Config(
        agents=tuple(_agent(*each) for each in zip("ABCDEF", config.agents, strict=False)),
        prompt=prompts["debate_turn"],
        rounds=config.rounds,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
        continue_to=config.continue_to,
        history_labels=config.history_labels,
        replicate=config.replicate,
        adjudicator=dream.seat_adjudicator(judge.model, judge.endpoint) if judge else None,
        adjudication=prompts.get("adjudication"),
    )


def _agent(name: str, seat: Seat) -> dream.Agent:
    stance = seat.stance
    return dream.Agent(name, stance, seat.model, seat.endpoint)  # type: ignore[arg-type]


def _judge_config(config: RunConfig, prompts: Mapping[str, PromptTemplate]) -> JudgeConfig:
    seats = [(seat.model, seat.endpoint) for seat in config.agents]
    return JudgeConfig(
        judges=line_up_judges(seats or [("", "")], samples=config.samples),
        prompts=prompts,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
        coerce=config.coerce,
        reference_parser=config.profile == "reference",
        threshold=config.threshold,
        majority=config.rule == "majority",
        verbalised=config.lara.verbalised,
    )
