"""Forms that set up runs of generated answers, and their grading."""

from typing import Any, Final

from django import forms

from annotate.grading.services import MOST_PEOPLE, PEOPLE, SIZE
from annotate.review.forms import SampleForm
from annotate.review.rescoring import MAX_SIZE
from corpus.lists import domain_choices
from corpus.models import Benchmark, RetrievalRun
from corpus.versions.services import names
from evaluation.rag.grading import MOST_REPLICATES
from evaluation.rag.grading import ROLE as GRADER
from evaluation.rag.models import HARNESSES
from evaluation.rag.protocol.grading import REFERENCE, STRICT
from evaluation.rag.services import LIMITS, ROLE
from llm.ledger.accounts import budget_field, effort_field, endpoint_field


def replicate_field() -> forms.IntegerField:
    """The field of forms that ask a judge of answers."""
    return forms.IntegerField(
        min_value=0,
        max_value=MOST_REPLICATES,
        initial=0,
        help_text="Another number asks again, and pays again: how stable the judge is.",
    )


class RagForm(forms.Form):
    """Who answers from what, and for how much."""

    first: Final = ("runs", "baselines", "harness", "k", "endpoint", "budget_usd")

    name = forms.CharField(max_length=190, required=False, help_text="Empty: named by its parts.")
    runs = forms.ModelMultipleChoiceField(
        RetrievalRun.objects.none(),
        label="Retrieval runs",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Imported or computed: of each its lists alone are needed.",
    )
    baselines = forms.BooleanField(
        label="Also without retrieval, and from the gold", required=False, initial=True
    )
    harness = forms.ChoiceField(choices=HARNESSES)
    k = forms.IntegerField(label="Passages", initial=10)
    domain = forms.ChoiceField(required=False)
    endpoint = endpoint_field(ROLE)
    max_tokens = forms.IntegerField(
        label="Maximum output tokens",
        required=False,
        help_text="Empty: 1,024 for short answers, 4,096 for long ones.",
    )
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    budget_usd = budget_field()

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        known = names(benchmark)
        runs = benchmark.retrieval_runs.order_by("name", "pk")
        fields["runs"].queryset = runs
        fields["runs"].initial = [run.pk for run in runs]
        fields["runs"].label_from_instance = lambda run: ", ".join(
            filter(None, [run.name, run.corpus_version_id and known.get(run.corpus_version_id)])
        )
        domains = domain_choices(benchmark)
        fields["domain"].choices = [("", "All"), *domains]
        for name, (low, high) in LIMITS.items():
            fields[name].min_value, fields[name].max_value = low, high


class DrawForm(SampleForm):
    """How many answers people judge, and how many people each."""

    size = forms.IntegerField(
        label="Answers",
        min_value=1,
        max_value=MAX_SIZE,
        initial=SIZE,
        help_text="Drawn by domain, in proportion.",
    )
    people = forms.IntegerField(
        label="People for each", min_value=1, max_value=MOST_PEOPLE, initial=PEOPLE
    )
    field_order: tuple[str, ...] = ("size", "people", "seed")


class GradeForm(forms.Form):
    """Who grades, and how its replies are read."""

    endpoint = endpoint_field(GRADER)
    profile = forms.ChoiceField(
        choices=[
            (STRICT, "strict: a doubtful reply is no grade"),
            (REFERENCE, "reference: as the papers’ code"),
        ]
    )
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    replicate = replicate_field()
    swapped = forms.BooleanField(
        required=False,
        label="Show several true answers the other way round",
        help_text="For the grader’s card alone: whether their order matters.",
    )
    budget_usd = budget_field()
