"""Forms of training data: setting a run up, and asking people about it."""

from typing import Any, Final

from django import forms

from corpus.models import Benchmark
from corpus.options import fields_of
from corpus.versions.forms import RunField, runs_of
from evaluation.training.services import CHOICES, MOST_ASKED, ROLE, SETTINGS
from llm.ledger.accounts import budget_field, endpoint_field

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "depth": ("First passages that are graded", "Above 6 of 10 positive, below 4 negative."),
    "labels": (
        "Labelled passages of each kind",
        "Relevant ones as positives, irrelevant ones as negatives; they are not graded.",
    ),
    "positives": ("Maximum positives written", "0: none."),
    "negatives": ("Hard negatives that are written", "One against each of the first positives."),
    "shortest": ("Shortest written positive, in words", ""),
    "longest": ("Longest written positive, in words", ""),
    "least_chars": ("Shortest hard negative, in characters", ""),
    "likeness": (
        "A hard negative is less like its positive than",
        "Shared telling words by all of both, from 0 to 1.",
    ),
    "language": ("Language of what is written", "Texts in another one are rejected."),
    "document_chars": ("Characters shown of a passage", ""),
    "temperature": ("Temperature of the writer", "Grades are given at 0."),
}


class TrainingForm(forms.Form):
    """What is graded, taken and written, by whom, for how much."""

    first: Final = ("source", "domain", "endpoint", "positives", "negatives", "budget_usd")

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = runs_of(benchmark)
        self.fields["source"] = RunField(
            runs,
            label="Retrieval run",
            required=False,
            empty_label="none: nothing is graded",
            initial=runs.first(),
        )
        domains = [(each.name, each.name) for each in benchmark.domains.ready()]
        self.fields["domain"] = forms.ChoiceField(
            required=False, choices=[("", "All"), *domains], help_text="Its queries only."
        )
        self.fields["endpoint"] = endpoint_field(ROLE)
        self.fields.update(fields_of(SETTINGS, _WORDS, CHOICES, {"": "that of the query"}))
        self.fields["name"] = forms.CharField(
            max_length=190, required=False, help_text="Left empty, one is made up."
        )
        self.fields["budget_usd"] = budget_field()


class AskForm(forms.Form):
    """How many graded pairs people are asked about."""

    size = forms.IntegerField(label="Pairs", min_value=1, max_value=MOST_ASKED, initial=50)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=1)
