"""The form of a computation: one for each method, with what that method asks."""

from typing import Any

from django import forms

from corpus.computing.config import (
    BY_DOCUMENT,
    DEPTH,
    INSTRUCTIONS,
    QUERIES,
    WEIGHT,
    is_in_chunks,
    settings_of,
)
from corpus.computing.models import Method
from corpus.models import Benchmark, CorpusVersion
from corpus.texts.tokens import names
from corpus.versions.forms import FIELD, RunField, runs_of, version_field
from corpus.versions.services import chosen
from llm.ledger.accounts import budget_field, endpoint_field

ABOUT = {
    Method.BM25: "Words, weighed by how rare they are and how long the passage is. The values "
    "that Bright-Pro and BRIGHT used stand in the form.",
    Method.TFIDF: "Words, weighed by how rare they are, compared by the angle between texts.",
    Method.LSA: "TF-IDF folded into a few dimensions, so that words of one context come close.",
    Method.EMBEDDINGS: "Vectors of a model at an OpenAI-compatible endpoint, compared one by one. "
    "Each text is paid for once.",
    Method.HYBRID: "Two runs that are here, their scores brought to 0-1 in each list and added.",
}


# Others are labelled by their names.
_LABELS = {"k1": "k1", "b": "b"}
_OF_FEW = {INSTRUCTIONS, "query_tokens", "document_tokens", "tokenizer"}


class ComputeForm(forms.Form):
    """Fields of one method."""

    name = forms.CharField(max_length=200, required=False, help_text="Left empty, one is made up.")
    depth = DEPTH.field(help_text="Passages kept a query.")

    def __init__(self, *args: Any, method: str, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method = method
        self.benchmark = benchmark
        self.fields.update(_fields(method, benchmark))
        if method != Method.HYBRID:
            self.fields.update(version_field(benchmark))
            self.fields.update(_by_document(benchmark))
            self.fields.update(_queries(benchmark))
        self.first = [name for name in self.fields if name not in _OF_FEW]

    def clean_version(self) -> CorpusVersion | None:
        """The version itself."""
        return chosen(self.benchmark, self.cleaned_data[FIELD])

    def clean(self) -> dict[str, Any]:
        """The values as `computing.services.start` takes them, the method's settings as `config`.

        Left as they are where one of them is wrong.
        """
        config = dict(super().clean() or {})
        if self.errors:
            return config
        given = {name: config.pop(name) for name in ("name", "budget_usd", FIELD) if name in config}
        if self.method == Method.HYBRID:
            config["runs"] = [config.pop(name).pk for name in ("first", "second")]
            config["weights"] = [config.pop(name) for name in ("weight_first", "weight_second")]
        settings = {name: value for name, value in config.items() if value is not None}
        return given | {"config": settings}


def _by_document(benchmark: Benchmark) -> dict[str, forms.Field]:
    """Only where there is a version in chunks."""
    if not any(is_in_chunks(each) for each in CorpusVersion.objects.choices(benchmark)):
        return {}
    return {
        BY_DOCUMENT: forms.BooleanField(
            label="Documents by their best chunk",
            required=False,
            help_text="Of a version in semantic chunks, as DIVER does: the run is of the version "
            "that it was cut from, and stands beside runs over whole documents.",
        )
    }


def _queries(benchmark: Benchmark) -> dict[str, forms.Field]:
    """Only where there are other words."""
    sources = list(benchmark.query_sources.values_list("pk", "name"))
    choice = forms.TypedChoiceField(
        label="Queries",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[("", "as they are"), *sources],
        help_text="In the words of a query source; one that it lacks is searched for as it is.",
    )
    return {QUERIES: choice} if sources else {}


def _fields(method: str, benchmark: Benchmark) -> dict[str, forms.Field]:
    if method == Method.HYBRID:
        return _hybrid(benchmark)
    if method == Method.EMBEDDINGS:
        return _embeddings()
    known = settings_of(method).items()
    return {name: each.field(label=_LABELS.get(name)) for name, each in known}


def _hybrid(benchmark: Benchmark) -> dict[str, forms.Field]:
    runs = runs_of(benchmark)
    return {
        "first": RunField(runs, label="First run"),
        "weight_first": WEIGHT.field(label="Its weight"),
        "second": RunField(runs, label="Second run"),
        "weight_second": WEIGHT.field(label="Its weight"),
    }


def _embeddings() -> dict[str, forms.Field]:
    known = settings_of(Method.EMBEDDINGS)
    prefix: dict[str, Any] = {"required": False, "max_length": known["query_prefix"].high}
    return {
        "endpoint": endpoint_field("embedder", label=None),
        "model": forms.CharField(
            max_length=int(known["model"].high),
            required=False,
            help_text="Left empty, the endpoint's default.",
        ),
        "dimensions": forms.IntegerField(
            required=False, min_value=1, help_text="Shorter vectors, where the model can."
        ),
        "query_prefix": forms.CharField(
            label="Before each query",
            help_text="An instruction, for models that were trained with one; {domain} in it is "
            "the domain’s name.",
            **prefix,
        ),
        "document_prefix": forms.CharField(label="Before each passage", **prefix),
        INSTRUCTIONS: known[INSTRUCTIONS].field(
            label="Instruction of each domain",
            help_text="Lines “domain: instruction”, or a JSON object. It stands before each query "
            "of the domain, or where {instruction} is in what stands there.",
        ),
        "query_tokens": known["query_tokens"].field(
            label="Tokens of a query", help_text="What is longer is cut and counted."
        ),
        "document_tokens": known["document_tokens"].field(label="Tokens of a passage"),
        "tokenizer": forms.ChoiceField(
            choices=[(each, each) for each in names()], help_text="What these are counted in."
        ),
        "budget_usd": budget_field(""),
    }
