"""Forms of assignments."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Exists, QuerySet

from annotate.assignments.models import unassigned
from annotate.assignments.services import MOST_AT_ONCE, experts_of
from annotate.workspace.models import present_aspects
from corpus.models import Benchmark, Query
from corpus.texts.finding import query_matches

_DAY = forms.DateInput(attrs={"type": "date"})


class AssignForm(forms.Form):
    """Which of the unassigned queries go to whom."""

    domain: forms.Field = forms.ModelChoiceField(
        None, required=False, label="Domain", empty_label="Every domain"
    )
    work = forms.ChoiceField(
        label="Aspects",
        required=False,
        choices=(("", "Any"), ("bare", "None yet"), ("begun", "Written")),
    )
    words = forms.CharField(label="Words or ids", required=False, max_length=200)
    most = forms.IntegerField(
        label="Maximum number of queries",
        required=False,
        min_value=1,
        max_value=MOST_AT_ONCE,
        help_text="Empty: all unassigned queries.",
    )
    people: forms.Field = forms.ModelMultipleChoiceField(
        None,
        label="People",
        widget=forms.CheckboxSelectMultiple,
        help_text="Round-robin, each only queries of their own domains.",
    )
    due_on = forms.DateField(label="Due", required=False, widget=_DAY)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        self.fields["domain"].queryset = benchmark.domains.ready()  # type: ignore[attr-defined]
        experts = experts_of(benchmark)
        names = dict(benchmark.domains.values_list("pk", "name"))
        people = self.fields["people"]
        people.queryset = annotators(benchmark)  # type: ignore[attr-defined]
        people.label_from_instance = lambda user: (  # type: ignore[attr-defined]
            f"{user.username} ({_domains_in_words(experts[user.pk], names)})"
        )

    def queries(self) -> QuerySet[Query]:
        """The queries that the cleaned form means, in the order in which they are given."""
        data = self.cleaned_data
        rows = unassigned(Query.objects.in_benchmark(self.benchmark))
        if data["domain"]:
            rows = rows.filter(domain=data["domain"])
        begun = Exists(present_aspects())
        if data["work"]:
            rows = rows.filter(begun) if data["work"] == "begun" else rows.exclude(begun)
        if data["words"]:
            rows = rows.filter(query_matches(data["words"], benchmark=self.benchmark))
        return rows[: data["most"]] if data["most"] else rows


class ReassignForm(forms.Form):
    """Who works on one query, and until when."""

    holder: forms.Field = forms.ModelChoiceField(None, label="Assigned to", empty_label=None)
    due_on = forms.DateField(label="Due", required=False, widget=_DAY)

    def __init__(self, *args: Any, benchmark: Benchmark, domain: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        able = [pk for pk, own in experts_of(benchmark).items() if domain in own]
        assignee = kwargs.get("initial", {}).get("holder")
        able += [assignee] if assignee else []
        people = User.objects.filter(pk__in=able).order_by("username")
        self.fields["holder"].queryset = people  # type: ignore[attr-defined]


class ActiveTimeForm(forms.Form):
    """A span of work, in milliseconds since 1970 by the server's clock; cleaned, two moments."""

    start = forms.IntegerField(min_value=0, max_value=10**14)
    end = forms.IntegerField(min_value=0, max_value=10**14)

    def clean(self) -> dict[str, datetime]:
        """As moments."""
        data = super().clean() or self.cleaned_data
        return {name: datetime.fromtimestamp(ms / 1000, UTC) for name, ms in data.items()}


def annotators(benchmark: Benchmark) -> QuerySet[User]:
    """The benchmark's annotators by name."""
    return User.objects.filter(pk__in=experts_of(benchmark)).order_by("username")


def _domains_in_words(own: set[int], names: dict[int, str]) -> str:
    shown = sorted(names[pk] for pk in own if pk in names)
    return "every domain" if len(shown) == len(names) else ", ".join(shown)
