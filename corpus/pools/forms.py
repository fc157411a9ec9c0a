"""The form of the pool builder."""

from typing import Any

from django import forms

from corpus.models import Benchmark, RetrievalRun
from corpus.pools.services import MAX_DEPTH
from corpus.versions.forms import RunsField, runs_of


class PoolForm(forms.Form):
    """Which retrieval runs, how deep, under which name."""

    runs = RunsField(
        RetrievalRun.objects.none(),
        label="Retrieval runs",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one retrieval run."},
    )
    depth = forms.IntegerField(
        label="Depth",
        min_value=1,
        max_value=MAX_DEPTH,
        initial=10,
        help_text="How many passages of each list count. DREAM took 10.",
    )
    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["runs"].queryset = runs_of(benchmark)  # type: ignore[attr-defined]

    def clean_runs(self) -> list[RetrievalRun]:
        """Version by version, in their order of names."""
        return list(self.cleaned_data["runs"])
