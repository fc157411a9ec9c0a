"""The form of a new run: the settings of each kind, and what they are in a RunConfig.

The fields that a new run's form can have; which of them it has, RunForm decides."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.db.models import Count
from django.forms import BoundField
from django.utils.functional import cached_property

from annotate.models import VotingPlan
from corpus.models import Benchmark, Pool
from debate.baselines.calibrations import MODELS
from debate.dream import MAX_AGENTS
from debate.models import RunKind
from debate.runs.configuration import (
    BOUNDS,
    DEFAULT_MODEL_COUNT,
    LARA_BOUNDS,
    LARA_MODES,
    MAX_TEMPERATURE,
    MODEL_COUNTS,
    ON_REFUSAL,
    OTHER_MODEL,
    PROFILES,
    RULES,
    STANCES,
    ModelChoice,
    RunConfig,
    role_of,
)
from debate.runs.planning import CHECKS, default_pool, pairs_left
from debate.runs.presets import PRESETS
from debate.runs.prompts import prompt_versions
from llm import endpoints
from llm.endpoints import endpoint_choices
from llm.ledger.accounts import budget_field, effort_field

_WORDS: Final = {
    "lara_reference": "as the public code has it",
    "lara_logistic": "a logistic regression, refitted",
    "simulated": "labels known already (simulated)",
    "live": "people, one batch after the other",
    "at_once": "people, all picks at once",
    "strict": "strict: JSON by the schema",
    "reference": "as UMBRELA's code reads",
    "majority": "the majority",
    "unanimity": "all of them",
    "person": "comes before people",
    "skip": "is left without a label",
    "other_model": "is put to a fallback model",
}


def _number(label: str, name: str, initial: int | None, words: str = "") -> Any:
    least, most = (BOUNDS | LARA_BOUNDS | {"agents": (0, MAX_AGENTS)})[name]
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=initial,
        required=initial is not None,
        help_text=words,
    )


def _one_of(label: str, values: Any, words: str = "") -> Any:
    choices = [(each, _WORDS.get(each, each)) for each in values]
    return forms.ChoiceField(label=label, choices=choices, help_text=words)


def _tick(label: str, words: str = "", *, initial: bool = False) -> Any:
    return forms.BooleanField(label=label, required=False, initial=initial, help_text=words)


class PoolField(forms.ModelChoiceField):
    """A pool, each with how many of its pairs are left to judge."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Pool.objects.none(), empty_label=None, **kwargs)

    def offer(self, benchmark: Benchmark) -> None:
        """Let it choose among the pools of a benchmark, from the one with work left."""
        self._benchmark = benchmark
        self.queryset = benchmark.pools.annotate(pairs=Count("entries")).order_by("-pk")
        self.initial = lambda: default_pool(benchmark, self.left)

    @cached_property
    def left(self) -> dict[int, int]:
        """Pairs left in each pool, counted where they are shown: a forecast alone shows none."""
        return pairs_left(self._benchmark)

    def label_from_instance(self, obj: Any) -> str:
        """The pool's name with its counts."""
        return f"{obj.name}: {self.left.get(obj.pk, 0):,} of {obj.pairs:,} pairs left"


class RunFields(forms.Form):
    """Every setting that some kind of run has."""

    preset = forms.ChoiceField(
        label="Preset",
        required=False,
        help_text="The experiments of DREAM; every setting can still be changed.",
    )
    kind = forms.ChoiceField(label="Kind of run", choices=RunKind.choices)
    pool = PoolField(
        label="Pool of pairs",
        help_text="A pair is left as long as it has no label (those of the practice model do not "
        "count), no case before people and no run under way.",
    )
    endpoint = forms.ChoiceField(
        label="Model endpoint", help_text="Asked by every agent without one of its own."
    )
    seats = _number("Number of agents", "agents", 2, "All of them have to agree.")
    first = _one_of(
        "Stance of the first agent", STANCES, "The others take turns, unless one is set."
    )
    rounds = _number(
        "Maximum rounds", "rounds", 2, "Two is what DREAM used: most pairs agree in the first."
    )
    continue_to = _number(
        "Continue agreed pairs until round", "continue_to", 0, "To see whether an agreement lasts."
    )
    prompt_version = forms.TypedChoiceField(label="Prompt version", coerce=int)
    samples = _number("Samples", "samples", 1, "How often the model is asked about a pair.")
    rule = _one_of("Voting rule", RULES)
    temperature = forms.FloatField(
        label="Temperature", min_value=0, max_value=MAX_TEMPERATURE, initial=0.0
    )
    reasoning_effort = effort_field()
    threshold = _number("Relevant from grade", "threshold", 2)
    profile = _one_of("Parser of answers", PROFILES)
    coerce = _tick("Count unreadable answers as 0", "In comparisons; it is no judgment.")
    history_labels = _tick("Agents see each other’s yes or no", initial=True)
    history_for_people = _tick("People see the debate", initial=True)
    lara_variant = _one_of("LARA’s model", MODELS)
    lara_mode = _one_of("LARA’s picks are labelled by", LARA_MODES)
    lara_batch = _number("Batch size", "batch", 20)
    lara_budget = forms.FloatField(
        label="Share labelled by people", min_value=0, max_value=1, initial=0.125
    )
    lara_groups = _number("Groups of queries", "groups", 0, "0: one ranking over all pairs.")
    lara_seed = _number("Seed of the groups", "seed", 0)
    lara_smooth = _tick("Smooth the probabilities first")
    lara_verbalised = _tick(
        "Ask for a confidence where the endpoint returns no probabilities", initial=True
    )
    has_adjudicator = _tick("An adjudicator decides disputed pairs")
    adjudicator_endpoint = forms.ChoiceField(label="Adjudicator: endpoint", required=False)
    adjudicator_model = forms.CharField(label="Adjudicator: model", max_length=120, required=False)
    on_refusal = _one_of("A pair that a model refuses", ON_REFUSAL)
    instead_endpoint = forms.ChoiceField(label="Fallback model: endpoint", required=False)
    instead_model = forms.CharField(label="Fallback model: name", max_length=120, required=False)
    trial = _tick("Trial run", "Its labels do not count, and nobody votes, until you adopt it.")
    audit = _number(
        "Agreed pairs to audit",
        "audit",
        0,
        "Judged from the passage alone when the run ends; they bound the error of its labels.",
    )
    decoys = _number(
        "Disputes shown without their debate",
        "decoys",
        0,
        "Then nothing tells an audited pair from a disputed one.",
    )
    canaries = _number("Adversarial passages", "canaries", 0, "Do the agents fall for words alone?")
    max_tokens = _number("Maximum output tokens", "max_tokens", None)
    replicate = _number("Replicate", "replicate", 0, "Another number asks again, and pays again.")
    budget_usd = budget_field()
    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )


LETTERS: Final = "ABCDEF"[:MAX_AGENTS]
# Measured in tests/debate/runs/test_run_form.py.
PRACTICE_FIGURES: Final = (
    "The practice model counts words: of 2,500 pairs of HotpotQA it settles 91 %, at a balanced "
    "accuracy of .80; of those that it settles in round two 31 % are right."
)
_SEAT: Final = ("endpoint", "model", "stance")
_DEBATE: Final = ("first", "rounds", "continue_to", "prompt_version", "history_labels")
# The settings of a kind, apart from pool, models, budget and name, in the order of the form.
SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    RunKind.DEBATE: (*_DEBATE, "history_for_people", "temperature", "trial", *CHECKS),
    RunKind.FILTER: ("temperature", "coerce"),
    RunKind.LLMJUDGE: ("temperature", "coerce"),
    RunKind.GRADED: ("samples", "temperature", "threshold", "profile", "coerce"),
    RunKind.VOTE: ("samples", "rule", "temperature"),
    RunKind.LARA: ("temperature",),
    RunKind.HUMAN_ONLY: ("trial",),
}
# Fields named after the options of LARA, `lara_` before each.
LARA: Final = ("variant", "mode", "batch", "budget", "groups", "seed", "smooth", "verbalised")
_ASKED: Final = ("max_tokens", "reasoning_effort", "replicate")
# How the line that stands for the advanced settings names them.
_PHRASES: Final = {
    "seats": "{} agents",
    "rounds": "{} rounds",
    "prompt_version": "prompt version {}",
    "samples": "{} samples",
    "temperature": "temperature {}",
    "audit": "{} agreed pairs to audit",
    "decoys": "{} disputes without their debate",
    "canaries": "{} adversarial passages",
}
_EXTRAS: Final = ("decoys", "canaries")
_TICKS: Final = {"trial": "on trial", "has_adjudicator": "an adjudicator"}
REFUSAL_FIELDS: Final = ("on_refusal", "instead_model", "instead_endpoint")


class RunForm(RunFields):
    """Which pairs, put before whom, by which rule, for how much.

    Bound to what was posted or begun with a preset's values. It has the fields of its kind only:
    a form that is posted with another kind has those of that kind.
    """

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given: Mapping[str, Any] = self.data if self.is_bound else self.initial
        kind = str(given.get("kind") or RunKind.DEBATE)
        self.run_kind = kind if kind in SETTINGS else RunKind.DEBATE
        self._offer(benchmark)
        self._keep_those_of_kind()
        self.seat_count = self._seat_count(given)
        self._add_seats()

    def sections(self) -> list[tuple[str, list[BoundField]]]:
        """What most people set, under its headings."""
        return self._grouped(
            {
                "What": ("pool", "preset", "kind"),
                "Who is asked, for how much": ("endpoint", "budget_usd"),
            }
        )

    def advanced(self) -> list[tuple[str, list[BoundField]]]:
        """The rest, agents apart (`seat_rows`)."""
        settings = SETTINGS[self.run_kind]
        return self._grouped(
            {
                "Agents": ("seats",),
                "The rule": (
                    *(each for each in settings if each not in CHECKS),
                    *(f"lara_{each}" for each in LARA),
                ),
                "Checks": CHECKS,
                "Disputed pairs": ("has_adjudicator", "adjudicator_endpoint", "adjudicator_model"),
                "Refusals": REFUSAL_FIELDS,
                "Limits and name": (*_ASKED, "name"),
            }
        )

    def in_force(self) -> str:
        """The advanced settings in a line, as they are chosen now."""
        words = [
            phrase.format(str(value).removesuffix(".0"))
            for name, phrase in _PHRASES.items()
            if name in self.fields and (value := self[name].value()) not in (None, "")
            if name not in _EXTRAS or str(value) != "0"
        ]
        ticks = [
            phrase for name, phrase in _TICKS.items() if name in self.fields and self[name].value()
        ]
        return ", ".join([*words, *ticks])

    def advanced_is_wrong(self) -> bool:
        """Whether one of the advanced settings was refused."""
        names = {field.name for _, fields in self.advanced() for field in fields}
        names |= {field.name for _, fields in self.seat_rows() for field in fields}
        return self.is_bound and not names.isdisjoint(self.errors)

    def _grouped(self, groups: Mapping[str, tuple[str, ...]]) -> list[tuple[str, list[BoundField]]]:
        found = [
            (title, [self[n] for n in names if n in self.fields]) for title, names in groups.items()
        ]
        return [(title, fields) for title, fields in found if fields]

    def seat_rows(self) -> list[tuple[str, list[BoundField]]]:
        """The agents by letter, one row each."""
        return [
            (letter, [self[n] for part in _SEAT if (n := f"{letter}_{part}") in self.fields])
            for letter in LETTERS[: self.seat_count]
        ]

    def as_sent(self) -> dict[str, Any]:
        """What a browser sends if nothing of an unbound form is changed."""
        sent = {}
        for field in self:
            value = field.value()
            choices = list(getattr(field.field, "choices", ()))[:1] if value is None else []
            sent[field.name] = choices[0][0] if choices else value
        return {name: value for name, value in sent.items() if value is not False}

    def settings(self) -> dict[str, Any]:
        """What was chosen, as `debate.runs.planning.plan_run` takes settings."""
        given = self.cleaned_data
        found: dict[str, Any] = {"kind": self.run_kind}
        found |= {name: given[name] for name in SETTINGS[self.run_kind] if name != "prompt_version"}
        found |= {name: given[name] for name in _ASKED if name in given}
        if self.run_kind == RunKind.LARA:
            found["lara"] = {name: given[f"lara_{name}"] for name in LARA}
        if given.get("has_adjudicator"):
            found["adjudicator"] = {
                "endpoint": given["adjudicator_endpoint"],
                "model": given["adjudicator_model"],
            }
        elif self.run_kind == RunKind.DEBATE:
            found["adjudicator"] = None
        if "on_refusal" in given:
            is_other = given["on_refusal"] == OTHER_MODEL
            found["on_refusal"] = given["on_refusal"]
            found["instead"] = (
                {
                    "endpoint": given["instead_endpoint"] or given["endpoint"],
                    "model": given["instead_model"],
                }
                if is_other
                else None
            )
        if self.seat_count:
            found["agents"] = [self._seat(letter) for letter in LETTERS[: self.seat_count]]
        return found

    def _seat(self, letter: str) -> dict[str, str]:
        given = self.cleaned_data
        return {
            "endpoint": given[f"{letter}_endpoint"] or given["endpoint"],
            "model": given[f"{letter}_model"],
            "stance": given.get(f"{letter}_stance", ""),
        }

    def place_of(self, setting: str) -> str | None:
        """The field that a refused setting belongs to; None where no field shows it."""
        other = {
            "agents": "seats",
            "adjudicator": "adjudicator_model",
            "lara": "lara_budget",
            "instead": "instead_model",
        }
        name = other.get(setting.partition(".")[0], setting)
        return name if name in self.fields else None

    def _offer(self, benchmark: Benchmark) -> None:
        fields: dict[str, Any] = self.fields
        fields["pool"].offer(benchmark)
        self._endpoints = endpoint_choices(role_of(self.run_kind))
        fields["endpoint"].choices = self._endpoints
        if any(each.is_practice for each in endpoints.available()):
            fields["endpoint"].help_text += f" {PRACTICE_FIGURES}"
        # A model that was chosen for the role stands first; else whoever debates decides, too.
        ruling = endpoint_choices("adjudicator")
        if endpoints.named_for("adjudicator") is None:
            ruling = [("", "the same as the agents"), *ruling]
        fields["adjudicator_endpoint"].choices = ruling
        fields["instead_endpoint"].choices = [("", "the same as the agents"), *self._endpoints]
        presets = [(each.name, f"{each.name}: {each.changes}") for each in PRESETS.values()]
        fields["preset"].choices = [("", "none"), *presets]
        fields["audit"].initial = VotingPlan.objects.current(benchmark).audit
        versions = prompt_versions(benchmark)
        fields["prompt_version"].initial = next(iter(versions), None)
        fields["prompt_version"].choices = [(number, f"version {number}") for number in versions]

    def _keep_those_of_kind(self) -> None:
        least, most = MODEL_COUNTS[self.run_kind]
        kept = {"preset", "kind", "pool", "endpoint", "name", *SETTINGS[self.run_kind]}
        if most:
            kept |= {"budget_usd", *_ASKED, *REFUSAL_FIELDS}
        if least != most:
            kept.add("seats")
            self.fields["seats"].min_value = least  # type: ignore[attr-defined]
        if self.run_kind == RunKind.DEBATE:
            kept |= {"has_adjudicator", "adjudicator_endpoint", "adjudicator_model"}
        if self.run_kind == RunKind.LARA:
            kept |= {f"lara_{each}" for each in LARA}
        self.fields["seats"].initial = DEFAULT_MODEL_COUNT.get(self.run_kind, 1)
        self.fields["seats"].required = False
        if self.run_kind == RunKind.FILTER:
            self.fields["seats"].help_text = "A pair is discarded only if all of them say false."
        self.fields = {name: each for name, each in self.fields.items() if name in kept}

    def _seat_count(self, given: Mapping[str, Any]) -> int:
        least, most = MODEL_COUNTS[self.run_kind]
        usual = DEFAULT_MODEL_COUNT.get(self.run_kind, 1)
        try:
            asked = int(given.get("seats") or usual)
        except (TypeError, ValueError):
            asked = usual  # the field itself says what is wrong with it
        return min(max(asked, least), most)

    def _add_seats(self) -> None:
        stances = [("", "alternating"), *((each, each) for each in STANCES)]
        for letter in LETTERS[: self.seat_count]:
            name = f"Agent {letter}" if self.seat_count > 1 else "The model"
            self.fields[f"{letter}_endpoint"] = forms.ChoiceField(
                label=f"{name}: endpoint",
                required=False,
                choices=[("", "the one above"), *self._endpoints],
            )
            self.fields[f"{letter}_model"] = forms.CharField(
                label=f"{name}: model", max_length=120, required=False
            )
            if self.run_kind == RunKind.DEBATE:
                self.fields[f"{letter}_stance"] = forms.ChoiceField(
                    label=f"{name}: stance", required=False, choices=stances
                )


def initial_of(config: RunConfig, *, main: ModelChoice) -> dict[str, Any]:
    """What the form shows of a configuration; `main` is the endpoint that need not be named."""
    found: dict[str, Any] = {
        name: getattr(config, name)
        for names in SETTINGS.values()
        for name in names
        if name != "prompt_version"
    }
    found |= {name: getattr(config, name) for name in _ASKED}
    found |= {"kind": config.kind, "preset": config.preset, "seats": len(config.agents)}
    found |= {f"lara_{name}": getattr(config.lara, name) for name in LARA}
    for letter, choice in zip(LETTERS, config.agents, strict=False):
        found |= {f"{letter}_{part}": value for part, value in _shown(choice, main).items()}
    found["on_refusal"] = config.on_refusal
    if config.instead:
        other = _shown(config.instead, main)
        found |= {f"instead_{part}": other[part] for part in ("endpoint", "model")}
    found["has_adjudicator"] = config.adjudicator is not None
    if config.adjudicator:
        ruling = _shown(config.adjudicator, main)
        found |= {f"adjudicator_{part}": ruling[part] for part in ("endpoint", "model")}
    return found


def _shown(choice: ModelChoice, main: ModelChoice) -> dict[str, str]:
    """A model choice without what is the default."""
    is_elsewhere = choice.endpoint != main.endpoint
    return {
        "endpoint": choice.endpoint if is_elsewhere else "",
        "model": choice.model if is_elsewhere or choice.model != main.model else "",
        "stance": choice.stance,
    }
