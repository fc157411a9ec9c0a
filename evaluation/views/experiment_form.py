"""The form that names an experiment."""

from typing import Any

from django import forms

from corpus.models import Benchmark
from debate.models import DebateRun
from debate.services.references import references


class ExperimentForm(forms.Form):
    """Which runs are compared, and with whose labels."""

    name = forms.CharField(max_length=120, label="Name")
    reference = forms.ChoiceField(
        label="Reference", help_text="Whose labels count as the truth for this comparison."
    )
    runs = forms.ModelMultipleChoiceField(
        DebateRun.objects.none(),
        label="Runs",
        help_text="Runs over the same pool of pairs.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["runs"].queryset = benchmark.debate_runs.all()  # type: ignore[attr-defined]
        self.fields["reference"].choices = [  # type: ignore[attr-defined]
            (each.key, each.name) for each in references(benchmark)
        ]

    def clean_runs(self) -> list[DebateRun]:
        """The runs in the order in which they were made."""
        return list(self.cleaned_data["runs"].order_by("pk"))
