"""The forms of cleaning runs."""

from typing import Any

from django import forms

from corpus.cleaning.services import DEFAULTS, by_role
from corpus.models import Benchmark, CleaningPreset, CorpusVersion, ViolationPolicy
from llm import endpoints
from llm.endpoints import endpoint_choices
from llm.ledger.accounts import budget_field
from llm.requests import EFFORTS


class CleaningForm(forms.Form):
    """What is cleaned, how, by whom, and what happens to gold that an agent changed."""

    source = forms.ModelChoiceField(CorpusVersion.objects.none(), label="Corpus version to clean")
    preset = forms.ChoiceField(
        label="Preset",
        choices=CleaningPreset.choices,
        initial=CleaningPreset.MARCUS,
        help_text="Rules ask no model; semantic chunks ask for vectors of sentences.",
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
    reasoning_effort = forms.ChoiceField(
        label="Reasoning effort",
        required=False,
        choices=[("", "the model’s own"), *((each, each) for each in EFFORTS)],
        help_text="For models that take it; others may refuse the request.",
    )
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
        choices = endpoint_choices("cleaner")
        if words := by_role():
            choices = [("", f"by role: {words}"), *choices]
        self.fields["endpoint"].choices = choices  # type: ignore[attr-defined]

    def clean_endpoint(self) -> endpoints.Endpoint | None:
        """The endpoint itself."""
        name = self.cleaned_data["endpoint"]
        return endpoints.get(name) if name else None

    def as_verb(self) -> dict[str, Any]:
        """The cleaned data as start_cleaning takes it."""
        given = dict(self.cleaned_data)
        site, effort = given.pop("site") or DEFAULTS["site"], given.pop("reasoning_effort")
        return given | {"options": {"site": site, "reasoning_effort": effort}}


class WidthForm(forms.Form):
    """How wide the bins of a report's histograms are."""

    tokens = forms.IntegerField(
        label="Tokens in a bin", min_value=10, max_value=4000, required=False
    )
    cosine = forms.FloatField(
        label="Cosine in a bin", min_value=0.02, max_value=0.5, required=False
    )
