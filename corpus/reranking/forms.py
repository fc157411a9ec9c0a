"""The form of a reranking: one for each method, with what that method asks."""

from typing import Any, Final

from django import forms

from corpus.models import Benchmark
from corpus.options import fields_of
from corpus.reranking import asking
from corpus.reranking.rules import PARSERS
from corpus.reranking.services import CHOICES, MIX_WORDS, SETTINGS, role_of
from corpus.versions.forms import RunField, runs_of
from llm.ledger.accounts import budget_field, endpoint_field

ABOUT: Final = {
    asking.POINTWISE: "A model scores each passage from 0 to 10, one call a passage.",
    asking.LISTWISE: "A model orders all passages of a query in one call.",
    asking.GROUPWISE: "A model scores passages side by side in shuffled groups; repeats are "
    "averaged, and their spread is kept.",
    asking.ENDPOINT: "A cross-encoder behind a rerank server scores the passages. It is tried on "
    "ten pairs of known order before it is paid.",
    asking.ORACLE: "Relevant passages first, by the gold: what no reranker of this run can exceed. "
    "Asks nobody.",
    asking.MERGE: "Two runs made one by their ranks, such as a pointwise and a "
    "listwise reranking. Asks nobody.",
}
_WORDS: Final[dict[str, tuple[str, str]]] = {
    "depth": ("First passages of a query", ""),
    "mix": ("The final score is", ""),
    "weight": ("Weight of the reranker", "The retriever has the rest."),
    "parser": ("Replies are read", "What cannot be read never becomes a score in strict."),
    "family": ("Prompt", "auto: by the name of the domain, as BRIGHT has them."),
    "document_chars": ("Characters shown of a passage", "What is longer is cut and counted."),
    "group_size": ("Passages of a group", ""),
    "repeats": ("Repeats", ""),
    "seed": ("Seed of the shuffles", ""),
    "temperature": ("Temperature", ""),
    "top_p": ("top_p", ""),
    "output_tokens": ("Maximum output tokens", ""),
    "query_template": (
        "Template of the query",
        "With {query} in it, for models that want their texts in a form of their own.",
    ),
    "document_template": ("Template of each passage", "With {document} in it."),
    "skip_probe": (
        "Without the ten pairs",
        "What is paid is tried on ten pairs of known order first, and the run stops where it does "
        "not tell them apart.",
    ),
    "fusion": ("Ranks count", "log-rank: by -ln(rank), DIVER's; rrf: by 1 / (60 + rank)."),
}


def _words(method: str) -> dict[str, tuple[str, str]]:
    """The words of a method's settings; of those that its parser decides, what they are then."""
    strict, reference = (asking.SAMPLING.get((each, method), {}) for each in PARSERS)
    usual = {
        name: (
            _WORDS[name][0],
            f"Left empty, {value:g} in strict, {reference[name]:g} in reference.",
        )
        for name, value in strict.items()
    }
    return _WORDS | usual


class RerankForm(forms.Form):
    """Which run is reranked, how, by whom, for how much."""

    first: Final = ("source", "second", "endpoint", "depth", "mix", "budget_usd")

    def __init__(self, *args: Any, method: str, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method = method
        hidden = forms.CharField(widget=forms.HiddenInput, required=False, initial=method)
        self.fields["method"] = hidden
        runs = runs_of(benchmark)
        self.fields["source"] = RunField(runs, label="Retrieval run", empty_label=None)
        if method == asking.MERGE:
            self.fields["source"].label = "First run, such as a pointwise one"
            self.fields["second"] = RunField(runs, label="Second run, such as a listwise one")
        if role := role_of(method):
            self.fields["endpoint"] = endpoint_field(role)
        self.fields.update(fields_of(SETTINGS[method], _words(method), CHOICES, MIX_WORDS))
        self.fields["name"] = forms.CharField(
            max_length=190, required=False, help_text="Left empty, one is made up."
        )
        if role:
            self.fields["budget_usd"] = budget_field()

    def clean_method(self) -> str:
        """The one whose fields these are."""
        return self.method
