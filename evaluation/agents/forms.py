"""Forms that set up runs of search agents and of judges."""

from typing import Any, Final

from django import forms

from corpus.lists import domain_choices
from corpus.models import Benchmark
from corpus.texts import tokens
from evaluation.agents.judging import MOST_REPETITIONS
from evaluation.agents.judging import ROLE as JUDGE_ROLE
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.agents.services import LIMITS, MOST_ROUNDS, ROLE, retrievers
from llm.ledger.accounts import budget_field, effort_field, endpoint_field


class AgentForm(forms.Form):
    """Which agent searches what with which retriever, for how much."""

    first: Final = ("retriever", "rounds", "domain", "sample", "endpoint", "budget_usd")

    name = forms.CharField(max_length=190, required=False, help_text="Empty: named by its parts.")
    guest = forms.CharField(
        label="Agent from outside",
        max_length=120,
        required=False,
        help_text="Its name, where a program of yours searches by tokens. Empty: a model does.",
    )
    retriever = forms.ChoiceField(help_text="Retrieval runs that were computed here.")
    rounds = forms.IntegerField(
        label="Fixed rounds",
        required=False,
        min_value=1,
        max_value=MOST_ROUNDS,
        initial=3,
        help_text="An answer is written after each. Empty: the agent decides when to stop.",
    )
    domain = forms.ChoiceField(required=False)
    sample = forms.BooleanField(
        label="The fixed sample of 25 queries a domain", required=False, initial=False
    )
    repetitions = forms.IntegerField(min_value=1, max_value=MOST_REPETITIONS, initial=1)
    max_iterations = forms.IntegerField(
        label="Maximum rounds, where the agent decides", initial=100
    )
    endpoint = endpoint_field(
        ROLE, required=False, help_text="Not asked for an agent from outside."
    )
    k = forms.IntegerField(label="Documents of a search", initial=5)
    snippet_tokens = forms.IntegerField(label="Tokens of a snippet", initial=2048)
    tokenizer = forms.ChoiceField(choices=lambda: [(each, each) for each in tokens.names()])
    documents = forms.BooleanField(label="Offer get_document as well", required=False)
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    budget_usd = budget_field()

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        names = domain_choices(benchmark)
        fields["domain"].choices = [("", "All"), *names]
        fields["retriever"].choices = [(each.pk, each.name) for each in retrievers(benchmark)]
        fields["reasoning_effort"].initial = "medium"
        for name in ("k", "snippet_tokens", "max_iterations"):
            low, high = LIMITS[name]
            fields[name].min_value, fields[name].max_value = low, high


class JudgeForm(forms.Form):
    """Which model judges, how, and how often."""

    endpoint = endpoint_field(JUDGE_ROLE)
    mode = forms.ChoiceField(
        choices=[
            (JudgeMode.RUBRIC.value, "a score for every aspect, and quality"),
            (JudgeMode.LIKERT.value, "completeness and quality from 1 to 5"),
        ],
        help_text="Scores of the two are never in one mean.",
    )
    repetitions = forms.IntegerField(min_value=1, max_value=MOST_REPETITIONS, initial=1)
    budget_usd = budget_field()
