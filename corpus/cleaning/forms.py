"""The forms of cleaning runs."""

from typing import Any, Final

from django import forms

from corpus.cleaning.services import BOUNDS, CHUNKS, DEFAULTS, EMBEDDERS, by_role
from corpus.models import Benchmark, CleaningPreset, CorpusVersion, ViolationPolicy
from llm import endpoints
from llm.endpoints import endpoint_choices
from llm.ledger.accounts import budget_field, effort_field

_OPTIONS: Final = ("site", "reasoning_effort", "ask_from", *CHUNKS)


def _number(option: str, label: str, *, whole: bool = False) -> forms.Field:
    low, high = BOUNDS[option]
    kind: Any = forms.IntegerField if whole else forms.FloatField
    field: forms.Field = kind(
        label=label, min_value=low, max_value=high, initial=DEFAULTS[option], required=False
    )
    return field


class CleaningForm(forms.Form):
    """What is cleaned, how, by whom, and what happens to gold that an agent changed."""

    source = forms.ModelChoiceField(CorpusVersion.objects.none(), label="Corpus version to clean")
    preset = forms.ChoiceField(
        label="Preset",
        choices=CleaningPreset.choices,
        initial=CleaningPreset.MARCUS,
        help_text="Rules ask no model; semantic chunks ask for vectors where you choose a model.",
    )
    also = forms.MultipleChoiceField(
        label="Also make",
        choices=CleaningPreset.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="One job: each version after the one before, no call made twice, one budget.",
    )
    endpoint = forms.ChoiceField(label="Model endpoint", required=False)
    model = forms.CharField(
        label="Model",
        max_length=120,
        required=False,
        help_text="Left empty, the endpoint's own. For semantic chunks name an embedding model.",
    )
    policy = forms.ChoiceField(
        label="Where an agent changed gold text",
        choices=ViolationPolicy.choices,
        initial=ViolationPolicy.REPAIR,
    )
    site = forms.CharField(
        label="Kind of site",
        max_length=80,
        required=False,
        initial=DEFAULTS["site"],
        help_text="Told to the cleaner of gold, such as Wikipedia.",
    )
    reasoning_effort = effort_field()
    ask_from = _number(
        "ask_from", "Ask about left-out gold from so many words; less is put back", whole=True
    )
    embedder = forms.ChoiceField(
        label="Semantic chunks: vectors of sentences from",
        required=False,
        choices=[("", "a model for embeddings if an endpoint is set up, else LSA")],
        help_text="Of hashed words only where a corpus has too little text for LSA.",
    )
    threshold = _number("threshold", "Semantic chunks: similarity below which the next one begins")
    most = _number("most", "Semantic chunks: maximum length in words", whole=True)
    overlap = _number("overlap", "Semantic chunks: share repeated in front of the next")
    long_from = _number("long_from", "Semantic chunks: texts up to so many words stay", whole=True)
    budget_usd = budget_field()
    name = forms.CharField(
        label="Name of the new version",
        max_length=80,
        required=False,
        help_text="Left empty, one is made up.",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        versions = CorpusVersion.objects.ready().filter(benchmark=benchmark)
        self.fields["source"].queryset = versions  # type: ignore[attr-defined]
        self.fields["source"].initial = CorpusVersion.objects.current(benchmark)
        embedder = self.fields["embedder"]
        embedder.choices = [*embedder.choices, *EMBEDDERS.items()]  # type: ignore[attr-defined]
        choices = endpoint_choices("cleaner")
        if words := by_role():
            choices = [("", f"by role: {words}"), *choices]
        self.fields["endpoint"].choices = choices  # type: ignore[attr-defined]

    def clean_endpoint(self) -> endpoints.Endpoint | None:
        """The endpoint itself."""
        name = self.cleaned_data["endpoint"]
        return endpoints.get(name) if name else None

    def clean(self) -> dict[str, Any]:
        """The values as start_cleaning takes them."""
        given = dict(super().clean() or {})
        options = {name: given.pop(name, None) for name in _OPTIONS}
        left = (None, "")
        return given | {"options": {k: v for k, v in options.items() if v not in left}}


class WidthForm(forms.Form):
    """How wide the bins of a report's histograms are."""

    tokens = forms.IntegerField(
        label="Tokens in a bin", min_value=10, max_value=4000, required=False
    )
    cosine = forms.FloatField(
        label="Cosine in a bin", min_value=0.02, max_value=0.5, required=False
    )
