"""The fields that a new run's form can have; which of them it has, run_forms.py says."""

from typing import Any, Final

from django import forms

from corpus.models import Pool
from debate.baselines.lara import MODELS
from debate.baselines.votes import MAX_VOTES
from debate.configuration import (
    LARA_MODES,
    MAX_TEMPERATURE,
    MOST_AUDITED,
    MOST_CANARIES,
    ON_REFUSAL,
    PROFILES,
    RULES,
    STANCES,
)
from debate.dream import MAX_AGENTS, MAX_ROUNDS
from debate.models import RunKind
from llm.ledger.accounts import budget_field
from llm.requests import EFFORTS

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
    "other_model": "is put to another model",
}


def _number(label: str, least: int, most: int, initial: int | None, words: str = "") -> Any:
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


class RunFields(forms.Form):
    """Every setting that some kind of run has."""

    preset = forms.ChoiceField(
        label="Begin with",
        required=False,
        help_text="The experiments of DREAM; every setting can still be changed.",
    )
    kind = forms.ChoiceField(label="Kind of run", choices=RunKind.choices)
    pool = forms.ModelChoiceField(
        Pool.objects.none(), label="Pairs", help_text="The pool of (query, passage) pairs to judge."
    )
    endpoint = forms.ChoiceField(
        label="Model endpoint", help_text="Asked wherever an agent names no other."
    )
    seats = _number("Number of agents", 0, MAX_AGENTS, 2, "All of them have to agree.")
    first = _one_of("The first agent opens", STANCES, "The others take turns, unless one is set.")
    rounds = _number(
        "Rounds at most", 1, MAX_ROUNDS, 2, "Two is what DREAM used: most pairs agree in the first."
    )
    continue_to = _number(
        "Debate agreed pairs on to round", 0, MAX_ROUNDS, 0, "To see whether an agreement lasts."
    )
    prompt_version = forms.TypedChoiceField(label="Prompt version", coerce=int)
    samples = _number("Samples", 1, MAX_VOTES, 1, "How often the model is asked about a pair.")
    rule = _one_of("Which votes decide", RULES)
    temperature = forms.FloatField(
        label="Temperature", min_value=0, max_value=MAX_TEMPERATURE, initial=0.0
    )
    reasoning_effort = forms.ChoiceField(
        label="Reasoning effort",
        required=False,
        choices=[("", "the model’s own"), *((each, each) for each in EFFORTS)],
        help_text="For models that take it; others may refuse the request.",
    )
    threshold = _number("Relevant from grade", 1, 3, 2)
    profile = _one_of("Reading of answers", PROFILES)
    coerce = _tick("Count what cannot be read as 0", "In comparisons; it is no judgment.")
    history_labels = _tick("Agents see each other’s yes or no", initial=True)
    history_for_people = _tick("People see the debate", initial=True)
    lara_variant = _one_of("LARA", MODELS)
    lara_mode = _one_of("Its picks are labelled by", LARA_MODES)
    lara_batch = _number("Pairs before people at a time", 1, 10_000, 20)
    lara_budget = forms.FloatField(
        label="Share that people label", min_value=0, max_value=1, initial=0.125
    )
    lara_groups = _number("Groups of queries", 0, 1000, 0, "0: one ranking over all pairs.")
    lara_seed = _number("Seed of the groups", 0, 2**31 - 1, 0)
    lara_smooth = _tick("Spread the probabilities first")
    lara_verbalised = _tick(
        "Ask for a confidence where the endpoint tells no probabilities", initial=True
    )
    has_adjudicator = _tick("An adjudicator decides what stays disputed")
    adjudicator_endpoint = forms.ChoiceField(label="Its endpoint", required=False)
    adjudicator_model = forms.CharField(label="Its model", max_length=120, required=False)
    on_refusal = _one_of("A pair that a model will not answer about", ON_REFUSAL)
    instead_endpoint = forms.ChoiceField(label="That model’s endpoint", required=False)
    instead_model = forms.CharField(label="The other model", max_length=120, required=False)
    trial = _tick("On trial", "Its labels do not count, and nobody is asked, until it is adopted.")
    audit = _number(
        "Agreed pairs for people to check",
        0,
        MOST_AUDITED,
        0,
        "Judged from the passage alone when the run ends; they bound the error of its labels.",
    )
    decoys = _number(
        "Disputes shown without their debate",
        0,
        MOST_AUDITED,
        0,
        "Then nothing tells an audited pair from a disputed one.",
    )
    canaries = _number(
        "Canaries", 0, MOST_CANARIES, 0, "Baited passages: do the agents fall for words alone?"
    )
    max_tokens = _number("Tokens of an answer at most", 1, 1_000_000, None)
    replicate = _number("Replicate", 0, 1_000_000, 0, "Another number asks again, and pays again.")
    budget_usd = budget_field()
    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )
