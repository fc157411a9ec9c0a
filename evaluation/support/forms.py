"""Forms of judging citations."""

from typing import Any

from django import forms

from annotate.grading.sentences import POST_EDIT, SIZE
from corpus.lists import domain_choices
from corpus.models import Benchmark
from evaluation.rag.forms import DrawForm as DrawAnswers
from evaluation.rag.forms import replicate_field
from evaluation.support.services import MOST_PER_SENTENCE, ROLE, sources
from llm.ledger.accounts import budget_field, effort_field, endpoint_field


def _per_sentence(help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        label="Citations of a sentence",
        required=False,
        min_value=1,
        max_value=MOST_PER_SENTENCE,
        help_text=help_text,
    )


class JudgeForm(forms.Form):
    """Who judges."""

    endpoint = endpoint_field(ROLE)
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    replicate = replicate_field()
    swapped = forms.BooleanField(
        required=False,
        label="Show the passage before the sentence",
        help_text="For the judge’s card alone: whether their order matters.",
    )
    budget_usd = budget_field()


class SupportForm(JudgeForm):
    """Whose answers, how many of their citations, and the first judge."""

    source = forms.ChoiceField(label="Answers")
    per_sentence = _per_sentence("The first so many; empty: all. TREC RAG 2024 judged the first.")
    # Of a judge that is there already.
    replicate = swapped = None  # type: ignore[assignment]
    field_order = ("source", "per_sentence", "endpoint")

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["source"].choices = sources(benchmark)


class ImportForm(forms.Form):
    """A file of answers."""

    file = forms.FileField(label="File, one JSON record a line")
    name = forms.CharField(max_length=190, required=False)
    domain = forms.ChoiceField(required=False)
    per_sentence = _per_sentence("The first so many; empty: all.")

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["domain"].choices = [("", "All"), *domain_choices(benchmark)]


class DrawForm(DrawAnswers):
    """How many citations people judge, and how many people each."""

    post_edit = forms.IntegerField(
        label="Percent that show the machines’ verdicts first",
        min_value=0,
        max_value=90,
        initial=POST_EDIT,
        help_text="Drawn by chance; they measure what anchoring does.",
    )
    field_order = ("size", "people", "post_edit", "seed")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["size"].label, self.fields["size"].initial = "Citations", SIZE
        self.fields["people"].help_text = "As long as two verdicts are level, one more is asked."
