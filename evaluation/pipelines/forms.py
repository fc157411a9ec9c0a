"""The form of a pipeline."""

from typing import Any, Final

from django import forms

from corpus.models import Benchmark
from corpus.options import Setting
from corpus.reranking.services import SETTINGS, role_of
from corpus.versions.forms import RunField
from corpus.wordings import asking
from corpus.wordings.services import ROLE, retrievers_of
from evaluation.pipelines import plan
from llm.ledger.accounts import budget_field, endpoint_field

DEPTH = Setting(int, 100, 1, 1000)


class PipelineForm(forms.Form):
    """Which version on which retriever, by whom, for how much."""

    first: Final = ("preset", "retriever", "expander", "reranker", "budget_usd")

    preset = forms.ChoiceField(label="Version", choices=plan.CHOICES)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["retriever"] = RunField(
            retrievers_of(benchmark),
            empty_label=None,
            help_text="v3 is printed with another one than v1 and v2. One that is not BM25 gets a "
            "hybrid with it.",
        )
        self.fields["expander"] = endpoint_field(ROLE, label="Model that expands")
        role = role_of(plan.POINTWISE)
        self.fields["reranker"] = endpoint_field(role, label="Model that reranks")
        self.fields["profile"] = forms.ChoiceField(
            choices=[(each, each) for each in asking.PROFILES],
            help_text="reference: as the released scripts do, for expansion and replies alike.",
        )
        self.fields["depth"] = DEPTH.field(label="Passages reranked a query")
        self.fields["repeats"] = SETTINGS[plan.GROUPWISE]["repeats"].field(
            label="Repeats in groups",
            required=False,
            help_text="Of v3 alone. Left empty, 2 in strict, 6 in reference.",
        )
        self.fields["name"] = forms.CharField(
            max_length=140, required=False, help_text="Left empty, that of the version."
        )
        self.fields["budget_usd"] = budget_field("For all steps together; empty for no limit.")
