"""Small forms of this room; that of a new run stands in run_forms.py."""

from typing import Any

from django import forms

from corpus.models import Benchmark
from debate.audits.services import HIGHEST_SEED, MOST
from debate.models import DebateRun
from llm.endpoints import endpoint_choices
from llm.ledger.accounts import budget_field


class AuditForm(forms.Form):
    """How many agreed pairs people judge again, and the seed of the draw."""

    size = forms.IntegerField(
        label="Pairs",
        min_value=1,
        max_value=MOST,
        initial=150,
        error_messages={
            "required": "Say how many pairs to draw.",
        },
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=HIGHEST_SEED,
        initial=1,
        help_text="The same seed draws the same pairs again.",
    )


class KeepForm(forms.Form):
    """The name of the pool that a filter leaves."""

    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )


class HintForm(forms.Form):
    """Who writes the reasons of a panel, for how much."""

    endpoint = forms.ChoiceField(label="Model endpoint")
    model = forms.CharField(
        label="Model",
        max_length=120,
        required=False,
        help_text="Left empty: the endpoint’s own.",
    )
    budget_usd = budget_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["endpoint"].choices = endpoint_choices("agents")  # type: ignore[attr-defined]


class PromptForm(forms.Form):
    """Another template, and the pairs it is tried on."""

    text = forms.CharField(
        label="Template",
        max_length=40_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false"}),
        help_text="It keeps the lines version and role, the sections [system] and [user], and "
        "every placeholder: {agent}, {others}, {query}, {answers}, {chunk}, {history}.",
    )
    run = forms.ModelChoiceField(
        DebateRun.objects.none(),
        label="Pairs of the run",
        help_text="The run whose prompt, model and pairs it is held against.",
    )
    size = forms.IntegerField(label="Pairs", min_value=1, max_value=500, initial=50)
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31 - 1, initial=1)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = benchmark.debate_runs.filter(done__gt=0)
        self.has_runs = runs.exists()
        self.fields["run"].queryset = runs  # type: ignore[attr-defined]
        self.fields["run"].initial = runs.first()
