"""Forms of qualification: answers, items, files, rules."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from annotate.exams.bank import LONGEST, MOST_DRAWN
from annotate.forms import TextField
from corpus.models import Benchmark, Domain


class AnswerForm(forms.Form):
    """One answer; `place` says to which item of the attempt, counted from 0."""

    place = forms.IntegerField(min_value=0)
    label = forms.TypedChoiceField(choices=[("1", "1"), ("0", "0")], coerce=int)


class _DomainForm(forms.Form):
    """A form about one domain of the benchmark."""

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ready = benchmark.domains.filter(is_ready=True)
        self.fields["domain"].queryset = ready  # type: ignore[attr-defined]


class ItemForm(_DomainForm):
    """An item that an admin writes."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    question = TextField(label="Query", max_length=LONGEST, widget=forms.Textarea({"rows": 2}))
    answers = TextField(
        label="Answers",
        required=False,
        help_text="One a line.",
        max_length=LONGEST,
        widget=forms.Textarea({"rows": 2}),
    )
    passage = TextField(label="Passage", max_length=LONGEST, widget=forms.Textarea({"rows": 4}))
    label = forms.TypedChoiceField(
        label="Right answer", choices=[("1", "relevant"), ("0", "not relevant")], coerce=int
    )
    explanation = TextField(
        label="Why",
        required=False,
        help_text="Shown after a practice item.",
        max_length=4000,
        widget=forms.Textarea({"rows": 2}),
    )
    is_practice = forms.BooleanField(label="For practice only", required=False)

    def clean_answers(self) -> list[str]:
        """The lines that are not empty."""
        lines = self.cleaned_data["answers"].splitlines()
        return [line.strip() for line in lines if line.strip()]


class ItemFileForm(_DomainForm):
    """Items as CSV."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    file = forms.FileField(
        label="CSV file",
        help_text="Columns question, answers (a JSON list, or one answer), passage, label (1 or "
        "0), and if you like explanation and practice (1).",
    )


class DrawForm(_DomainForm):
    """Items out of the benchmark's own gold."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    count = forms.IntegerField(label="Items", min_value=1, max_value=MOST_DRAWN, initial=20)
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31 - 1, initial=1)
    practice = forms.BooleanField(label="For practice only", required=False)


class RuleForm(forms.Form):
    """What the benchmark asks before people vote."""

    required = forms.BooleanField(label="People must qualify before they vote", required=False)
    pass_mark = forms.IntegerField(
        label="Pass mark", min_value=0, max_value=100, help_text="Of 100; 90 is usual."
    )
    exam_size = forms.IntegerField(label="Items of an exam", min_value=1, max_value=200)
    needs_approval = forms.BooleanField(label="Ask for approved work elsewhere", required=False)
    approval_above = forms.IntegerField(
        label="Approved more than", min_value=0, max_value=100, help_text="Percent of the work."
    )
    approved_least = forms.IntegerField(
        label="Pieces approved at least", min_value=0, max_value=10**9
    )
    recheck_below = forms.IntegerField(
        label="New exam below",
        min_value=0,
        max_value=100,
        help_text="Percent of the last attention checks that were right.",
    )
    recheck_window = forms.IntegerField(label="Over the last checks", min_value=1, max_value=200)
    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class ApprovalForm(forms.Form):
    """Approval history as CSV."""

    file = forms.FileField(
        label="CSV file", help_text="Columns username, rate (percent), approved (pieces)."
    )


class RecheckForm(_DomainForm):
    """Asking somebody to take the exam again."""

    person = forms.ModelChoiceField(User.objects.none(), label="Person")
    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    reason = forms.CharField(label="Why", max_length=300)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, benchmark=benchmark, **kwargs)
        people = User.objects.filter(memberships__benchmark=benchmark).order_by("username")
        self.fields["person"].queryset = people  # type: ignore[attr-defined]
