"""How a run is set up: the values, what they may be, and their frozen form on the run.

Pure but for the kind's names. `RunConfig` is what services take and presets make; `as_json` is
what `DebateRun.config` keeps and `read_config` reads back, refusing whatever it does not know.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Self

from debate.baselines.calibrations import MODELS
from debate.baselines.votes import MAX_VOTES
from debate.dream import MAX_AGENTS, MAX_ROUNDS
from debate.models import RunKind
from llm.requests import EFFORTS

MAX_TEMPERATURE: Final = 2.0
# How LARA's picks get their labels: from labels known already, from people in batches of
# `LaraOptions.batch`, or from people with all picks before them at once.
SIMULATED: Final = "simulated"
LARA_MODES: Final = (SIMULATED, "live", "at_once")
STANCES: Final = ("relevant", "irrelevant")
PROFILES: Final = ("strict", "reference")
RULES: Final = ("majority", "unanimity")
# What becomes of a pair that a model will not answer about: a person judges it, it is left without
# a label, or the model of `instead` is asked in that one's place.
PERSON, SKIP, OTHER_MODEL = "person", "skip", "other_model"
ON_REFUSAL: Final = (PERSON, SKIP, OTHER_MODEL)
# Whether passages are relevant, or whether they support an aspect of the query.
PAIRS, ASPECTS = "pairs", "aspects"
# Least and most of whole numbers, and the values of choices: for the form, the API and `check`.
BOUNDS: Final[dict[str, tuple[int, int]]] = {
    "rounds": (1, MAX_ROUNDS),
    "continue_to": (0, MAX_ROUNDS),
    "max_tokens": (1, 1_000_000),
    "replicate": (0, 1_000_000),
    "samples": (1, MAX_VOTES),
    "threshold": (1, 3),
    "audit": (0, 1000),
    "decoys": (0, 1000),
    "canaries": (0, 500),
}
LARA_BOUNDS: Final = {"groups": (0, 1000), "seed": (0, 2**32 - 1), "batch": (1, 10_000)}
CHOICES: Final = {
    "about": (PAIRS, ASPECTS),
    "first": STANCES,
    "profile": PROFILES,
    "rule": RULES,
    "on_refusal": ON_REFUSAL,
}
# How many models each kind asks about a pair.
MODEL_COUNTS: Final[dict[str, tuple[int, int]]] = {
    RunKind.DEBATE: (2, MAX_AGENTS),
    RunKind.FILTER: (1, MAX_AGENTS),
    RunKind.LLMJUDGE: (1, 1),
    RunKind.GRADED: (1, 1),
    RunKind.VOTE: (1, 1),
    RunKind.LARA: (1, 1),
    RunKind.HUMAN_ONLY: (0, 0),
}
# How many of them there are where a run names none.
DEFAULT_MODEL_COUNT: Final[dict[str, int]] = {
    RunKind.DEBATE: 2,
    RunKind.FILTER: 3,
    RunKind.HUMAN_ONLY: 0,
}


def role_of(kind: str) -> str:
    """The role (llm.endpoints.ROLES) of the models that a kind of run asks."""
    return "agents" if kind == RunKind.DEBATE else "judge"


class BadConfig(ValueError):
    """No run can have this configuration; `field` names the value at fault."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model at one endpoint (by name). An empty stance is given by the order."""

    model: str
    endpoint: str
    stance: str = ""


@dataclass(frozen=True, slots=True)
class LaraOptions:
    """`budget` is the share of pairs that people label; `groups` of 0 or 1 means none.

    `mode` is one of LARA_MODES; live, `batch` pairs are before people at a time.
    """

    variant: str = "lara_reference"
    budget: float = 0.125
    smooth: bool = False
    groups: int = 0
    seed: int = 0
    verbalised: bool = True
    mode: str = SIMULATED
    batch: int = 20


@dataclass(frozen=True)
class RunConfig:
    """Everything that can change what a run says about a pair (docs/protocol.md 2.2 to 2.9).

    kind: one of RunKind. agents: who is asked, in the order they are listed. `first` is the
    stance of the first agent where no agent names one. Of a debate: `rounds` to agree in,
    `continue_to` for agreed pairs, the adjudicator, whether the history has yes and no, and
    whether people see the debate. Of judges: `samples` drawn of one model, the `profile` of the
    parser, whether garbage counts as 0, the grade that is relevant, the rule of votes.
    `about` is what is asked of the pairs, by their pool: PAIRS, or ASPECTS.
    `on_refusal` is one of ON_REFUSAL; `instead` is the model of the last of them.
    `trial`: labels wait for adoption; every kind but the debate and people alone has it.
    How a debate is checked: `audit` agreed pairs come before people when it ends, judged
    from the passage alone; `decoys` disputes are shown without their debate as well, so that
    nothing tells the two apart; `canaries` adversarial passages are debated.
    """

    kind: str = RunKind.DEBATE
    about: str = PAIRS
    agents: tuple[ModelChoice, ...] = ()
    first: str = "relevant"
    rounds: int = 2
    continue_to: int = 0
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    replicate: int = 0
    on_refusal: str = PERSON
    instead: ModelChoice | None = None
    adjudicator: ModelChoice | None = None
    history_labels: bool = True
    history_for_people: bool = True
    samples: int = 1
    profile: str = "strict"
    coerce: bool = False
    threshold: int = 2
    rule: str = "majority"
    lara: LaraOptions = field(default_factory=LaraOptions)
    trial: bool = False
    audit: int = 0
    decoys: int = 0
    canaries: int = 0
    preset: str = ""

    def with_models(self, model: str, endpoint: str) -> Self:
        """With that model wherever none is named, and stances for the agents of a debate."""
        config = self
        if not self.agents:
            count = DEFAULT_MODEL_COUNT.get(self.kind, 1)
            config = replace(self, agents=(ModelChoice(model, endpoint),) * count)
        if config.kind != RunKind.DEBATE:
            return config
        order = STANCES if self.first == "relevant" else STANCES[::-1]
        stances = (choice.stance or order[i % 2] for i, choice in enumerate(config.agents))
        agents = zip(config.agents, stances, strict=True)
        return replace(config, agents=tuple(replace(s, stance=stance) for s, stance in agents))

    @property
    def is_trial(self) -> bool:
        """Whether labels wait for an admin: always for a baseline's."""
        return self.trial or self.kind not in (RunKind.DEBATE, RunKind.HUMAN_ONLY)

    @property
    def everybody(self) -> tuple[ModelChoice, ...]:
        """The agents, the adjudicator, and who is asked where one of them refuses."""
        others = [choice for choice in (self.adjudicator, self.instead) if choice]
        return (*self.agents, *others)


def as_json(config: RunConfig) -> dict[str, Any]:
    """The frozen form, without the preset's name, which has a column."""
    data = asdict(config)
    data["agents"] = [asdict(choice) for choice in config.agents]
    del data["preset"]
    return data


def read_config(data: Mapping[str, Any]) -> RunConfig:
    """The configuration in a frozen form; raises BadConfig for a key or value it cannot be."""
    values = _known(RunConfig, data)
    if "agents" in values:
        value = values["agents"]
        if not isinstance(value, list | tuple):
            raise BadConfig("agents is a list.", field="agents")
        values["agents"] = tuple(_choice(each) for each in value)
    for name in ("adjudicator", "instead"):
        if values.get(name) is not None:
            values[name] = _choice(values[name])
    if "lara" in values:
        values["lara"] = LaraOptions(**_known(LaraOptions, values["lara"], place="lara."))
    config = RunConfig(**values)
    check(config)
    return config


def amended(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """The configuration with these settings in their frozen form; LARA's may be some of its own.

    Raises BadConfig for a setting that no run has, or a value that it cannot have.
    """
    given = dict(changes)
    if isinstance(given.get("lara"), Mapping):
        given["lara"] = asdict(config.lara) | dict(given["lara"])
    return replace(read_config(as_json(config) | given), preset=config.preset)


_WORDS: Final = {
    "rounds": f"Choose 1 to {MAX_ROUNDS} rounds.",
    "continue_to": f"Agreed pairs can be debated on to round {MAX_ROUNDS} at most.",
    "max_tokens": "An answer needs at least a token.",
    "replicate": "A replicate is a number from 0.",
    "samples": f"Draw 1 to {MAX_VOTES} samples.",
    "threshold": "The grade that is relevant is 1, 2 or 3.",
}


def check(config: RunConfig) -> None:
    """Raises BadConfig, naming the field, for a configuration that no run can have."""
    _need(config.kind in RunKind.values, "kind", f"There is no kind of run {config.kind!r}.")
    _check_models(config)
    if config.about == ASPECTS:
        fits = config.kind in (RunKind.DEBATE, RunKind.HUMAN_ONLY)
        _need(fits, "kind", "Whether passages support aspects is debated, or left to people.")
        _need(not config.canaries, "canaries", "Baited passages are debated with answers.")
    words = f"The temperature lies between 0 and {MAX_TEMPERATURE:g}."
    _within(config.temperature, 0, MAX_TEMPERATURE, "temperature", words)
    for name, words in _WORDS.items():
        if name != "max_tokens" or config.max_tokens is not None:
            _whole(getattr(config, name), *BOUNDS[name], name, words)
    words = f"The reasoning effort is one of {', '.join(EFFORTS)}, or left to the model."
    _need(config.reasoning_effort in ("", *EFFORTS), "reasoning_effort", words)
    words = "Name the model that is asked where another refuses."
    _need((config.on_refusal == OTHER_MODEL) == bool(config.instead), "instead", words)
    for name, known in CHOICES.items():
        value = getattr(config, name)
        _need(value in known, name, f"{name} is one of {', '.join(known)}, not {value!r}.")
    _check_lara(config.lara)
    for name in ("audit", "decoys", "canaries"):
        count, (_, limit) = getattr(config, name), BOUNDS[name]
        _whole(count, 0, limit, name, f"{name} is a number from 0 to {limit:,}.")
        fits = not count or (config.kind == RunKind.DEBATE and not config.trial)
        _need(fits, name, "Only a debate that is no trial checks itself.")
    for name in ("trial", "coerce", "history_labels", "history_for_people"):
        _need(isinstance(getattr(config, name), bool), name, f"{name} is true or false.")


def _check_models(config: RunConfig) -> None:
    least, most = MODEL_COUNTS[config.kind]
    if config.agents or not most:
        count = len(config.agents)
        expected = f"{least}" if least == most else f"{least} to {most}"
        words = f"A run of this kind has {expected} agents, not {count}."
        _need(least <= count <= most, "agents", words)
    for choice in config.everybody:
        for name in ("model", "endpoint", "stance"):
            _need(isinstance(getattr(choice, name), str), "agents", f"An agent's {name} is a text.")
        _need(bool(choice.model), "agents", "Every agent needs a model.")
        _need(choice.stance in ("", *STANCES), "agents", f"There is no stance {choice.stance!r}.")
    if config.adjudicator:
        is_debate = config.kind == RunKind.DEBATE
        _need(is_debate, "adjudicator", "Only a debate has an adjudicator.")


def _check_lara(lara: LaraOptions) -> None:
    _need(lara.variant in MODELS, "lara", f"LARA comes as {' or '.join(MODELS)}.")
    _within(lara.budget, 0, 1, "lara", "LARA's budget is a share between 0 and 1.")
    _whole(lara.groups, *LARA_BOUNDS["groups"], "lara", "LARA has 0 to 1000 groups.")
    _whole(lara.seed, *LARA_BOUNDS["seed"], "lara", "A seed is a number from 0.")
    _need(lara.mode in LARA_MODES, "lara", f"LARA's mode is one of {', '.join(LARA_MODES)}.")
    _whole(lara.batch, *LARA_BOUNDS["batch"], "lara", "A batch of LARA holds 1 to 10,000 pairs.")
    for name in ("smooth", "verbalised"):
        _need(isinstance(getattr(lara, name), bool), "lara", f"lara.{name} is true or false.")


def _choice(value: Any) -> ModelChoice:
    given = _known(ModelChoice, value, place="agents.")
    _need({"model", "endpoint"} <= given.keys(), "agents", "An agent is a model at an endpoint.")
    return ModelChoice(**given)


def _known(kind: type, value: Any, *, place: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise BadConfig(f"{place.rstrip('.') or 'The configuration'} must be an object.")
    unknown = value.keys() - {each.name for each in fields(kind)}
    if unknown:
        name = place + min(map(str, unknown))
        raise BadConfig(f"A run has no setting {name!r}.", field=name)
    return dict(value)


def _whole(value: Any, least: int, most: int, name: str, words: str) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    _need(is_whole and least <= value <= most, name, words)


def _within(value: Any, least: float, most: float, name: str, words: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _need(is_number and least <= value <= most, name, words)


def _need(condition: bool, name: str, words: str) -> None:
    if not condition:
        raise BadConfig(words, field=name)
