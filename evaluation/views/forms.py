"""The form that asks for a release."""

from typing import Any

from django import forms

from corpus.models import Benchmark, CorpusVersion
from corpus.services.versions import chosen
from corpus.version_forms import FIELD, version_field


class ReleaseForm(forms.Form):
    """Its version and how strictly it is checked; what goes in is what stands."""

    version = forms.CharField(
        max_length=40,
        label="Version",
        help_text="Three numbers. Raise the last for mends, the middle for new labels, the first "
        "when old results can no longer be compared.",
    )
    final = forms.BooleanField(
        required=False,
        label="Final: refuse it while a check fails",
        help_text="A draft prints its faults on its card instead.",
    )
    agreement_bar = forms.FloatField(
        required=False,
        min_value=-1,
        max_value=1,
        label="Least agreement of voters (Fleiss’ kappa)",
        help_text="Below it, or where it cannot be measured, a final release is refused.",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        if field := version_field(benchmark).get(FIELD):
            self.fields["corpus"] = field

    def clean_corpus(self) -> CorpusVersion | None:
        """The corpus version itself."""
        return chosen(self.benchmark, self.cleaned_data["corpus"])
