"""From a run's frozen configuration to the rule that its pairs are put through.

A rule is a function (pair, key) -> steps (debate.dream.asking): the pump drives them all alike.
A new kind of run is a generator in a pure package and a line in `_RULES`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from debate import dream
from debate.baselines import graded, relevance, support, votes
from debate.baselines.judges import JudgeConfig, line_up_judges
from debate.dream.prompting import PROMPTS
from debate.models import DebateRun, RunKind
from debate.runs.configuration import ASPECTS, ModelChoice, RunConfig, read_config
from debate.runs.prompts import PromptGone, prompt_with
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
Rule = Callable[[dream.Pair, bytes], dream.Steps]
_RULES: Final[dict[str, Callable[[dream.Pair, JudgeConfig, bytes], dream.Steps]]] = {
    RunKind.FILTER: support.keep_or_discard,
    RunKind.LLMJUDGE: support.single_judge,
    RunKind.GRADED: graded.graded,
    RunKind.VOTE: votes.vote,
    RunKind.LARA: relevance.measure,
    RunKind.HUMAN_ONLY: relevance.human_only,
}


def rule_of(run: DebateRun) -> Rule:
    """The rule of a run. Raises PromptGone where a prompt changed since it was made."""
    return rule_with(config_of(run), _frozen_prompts(run))


def rule_with(config: RunConfig, prompts: Mapping[str, PromptTemplate]) -> Rule:
    """The rule of a configuration whose models are all named, asking with these prompts."""
    if config.kind == RunKind.DEBATE:
        debate = _debate_config(config, prompts)
        return lambda pair, key: dream.debate(pair, debate, key)
    choices = [(choice.model, choice.endpoint) for choice in config.agents]
    judges = JudgeConfig(
        judges=line_up_judges(choices or [("", "")], samples=config.samples),
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
    return lambda pair, key: _RULES[config.kind](pair, judges, key)


def debate_config(run: DebateRun) -> dream.Config:
    """How a debate run debates. Raises PromptGone, and ValueError for a run of another kind."""
    if run.kind != RunKind.DEBATE:
        raise ValueError(f"Run {run.pk} is no debate.")
    return _debate_config(config_of(run), _frozen_prompts(run))


def _frozen_prompts(run: DebateRun) -> dict[str, PromptTemplate]:
    """The prompts that the run was made with, by role."""
    config = config_of(run)
    is_debate = config.kind == RunKind.DEBATE and config.about != ASPECTS
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
    return plain.with_models(run.model, run.endpoint)


def prompts_of(
    config: RunConfig, *, debate_turn: PromptTemplate | None = None
) -> dict[str, PromptTemplate]:
    """The prompts that a run of this configuration asks with, by role, the main one first.

    `debate_turn` takes the place of the debate prompt that comes with the app.
    """
    if config.about == ASPECTS and config.kind == RunKind.DEBATE:
        turn, ruling = dream.aspect_prompts().items()
        return dict([turn, ruling] if config.adjudicator else [turn])
    roles = ROLES[config.kind] + (("adjudication",) if config.adjudicator else ())
    prompts = {role: _prompt(role) for role in roles}
    if debate_turn and "debate_turn" in prompts:
        prompts["debate_turn"] = debate_turn
    return prompts


@cache
def _prompt(role: str) -> PromptTemplate:
    own = {"debate_turn": dream.default_prompt, "adjudication": dream.adjudication_prompt}
    return own[role]() if role in own else support.load_prompt(PROMPTS / f"{role}.txt")


def _debate_config(config: RunConfig, prompts: Mapping[str, PromptTemplate]) -> dream.Config:
    judge = config.adjudicator
    return dream.Config(
        agents=tuple(_agent(*each) for each in zip("ABCDEF", config.agents, strict=False)),
        prompt=prompts["aspect_turn" if config.about == ASPECTS else "debate_turn"],
        rounds=config.rounds,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
        continue_to=config.continue_to,
        history_labels=config.history_labels,
        replicate=config.replicate,
        adjudicator=(
            dream.Agent(dream.ADJUDICATOR, dream.NO_STANCE, judge.model, judge.endpoint)
            if judge
            else None
        ),
        adjudication=prompts.get(
            "aspect_adjudication" if config.about == ASPECTS else "adjudication"
        ),
    )


def _agent(name: str, choice: ModelChoice) -> dream.Agent:
    stance = choice.stance
    return dream.Agent(name, stance, choice.model, choice.endpoint)  # type: ignore[arg-type]
