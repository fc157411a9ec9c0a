"""The form of an expansion: one for each method, with what that method asks."""

from typing import Any, Final

from django import forms

from corpus.models import Benchmark
from corpus.options import fields_of
from corpus.texts.tokens import names
from corpus.versions.forms import RunField
from corpus.wordings import asking
from corpus.wordings.services import CHOICES, ROLE, SETTINGS, retrievers_of
from llm.ledger.accounts import budget_field, endpoint_field

ABOUT: Final = {
    asking.REWRITE: "A model names the problem behind each query, reasons about what would help, "
    "and drafts an answer; that stands in the query’s place. One call a query.",
    asking.QEXPAND: "A model writes a passage that answers each query from what a retriever finds, "
    "and betters it with what that passage finds in turn. The final query is the original with "
    "the last passage behind it.",
}
_WORDS: Final[dict[str, tuple[str, str]]] = {
    "profile": (
        "Profile",
        "reference: two samples a call, the last handed on; passages are excluded by their text, "
        "two rounds back.",
    ),
    "rounds": ("Rounds", "Each becomes a query source and a retrieval run of its own."),
    "passages": ("Passages shown in a round", "None that was shown before."),
    "passage_tokens": ("Maximum tokens per passage", "What is longer is cut and counted."),
    "tokenizer": ("Tokenizer", "What these sizes are counted in."),
    "prompt_tokens": ("Maximum prompt tokens", ""),
    "output_tokens": ("Maximum output tokens", "As the model counts them."),
    "samples": ("Samples of a call", "Left empty, as many as the profile draws."),
    "stops_early": (
        "Stop early",
        f"A query whose first {asking.TOP} places a round left as they were is done.",
    ),
    "reasoning_free": (
        "Without reasoning",
        "The answer begins behind an empty block of thoughts, for servers that go on from one, as "
        "vLLM and SGLang do.",
    ),
    "depth": ("Passages kept a query", "In the retrieval runs."),
    "temperature": ("Temperature", ""),
    "top_p": ("top_p", ""),
}


class ExpansionForm(forms.Form):
    """Who words the queries, with which retriever, how, for how much."""

    first: Final = ("retriever", "endpoint", "profile", "rounds", "budget_usd")

    def __init__(self, *args: Any, method: str, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method = method
        hidden = forms.CharField(widget=forms.HiddenInput, required=False, initial=method)
        self.fields["method"] = hidden
        is_needed = method == asking.QEXPAND
        self.fields["retriever"] = RunField(
            retrievers_of(benchmark),
            required=is_needed,
            empty_label=None if is_needed else "none: other words alone",
            help_text="" if is_needed else "With one, its ranking of the new words is a run, too.",
        )
        self.fields["endpoint"] = endpoint_field(ROLE)
        self.fields.update(
            fields_of(SETTINGS[method], _WORDS, CHOICES | {"tokenizer": names()}, {})
        )
        self.fields["name"] = forms.CharField(
            max_length=180, required=False, help_text="Left empty, one is made up."
        )
        self.fields["budget_usd"] = budget_field()

    def clean_method(self) -> str:
        """The one whose fields these are."""
        return self.method
