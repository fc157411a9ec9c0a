"""Forms of qualification: answers, items, files, rules. `act` calls the verb, and says so."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.forms.models import model_to_dict

from annotate.exams import bank
from annotate.exams.qualification import (
    APPROVAL_COLUMNS,
    ask_recheck,
    import_approvals,
    rule_of,
    set_rule,
)
from annotate.forms import TextField
from annotate.models import ExamItem
from corpus.models import Benchmark, Domain
from kit.lists.csvread import csv_rows

ITEM_COLUMNS = ("question", "answers", "passage", "label")


class AnswerForm(forms.Form):
    """One answer; `place` says to which item of the attempt, counted from 0."""

    place = forms.IntegerField(min_value=0)
    label = forms.TypedChoiceField(choices=[("1", "1"), ("0", "0")], coerce=int)


class AdminForm(forms.Form):
    """What an admin does in a benchmark; a `domain` or `person` is one of its own."""

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        own = {
            "domain": benchmark.domains.filter(is_ready=True),
            "person": User.objects.filter(memberships__benchmark=benchmark).order_by("username"),
        }
        for name in own.keys() & self.fields.keys():
            self.fields[name].queryset = own[name]  # type: ignore[attr-defined]

    def act(self, actor: User) -> str:
        """Do what was asked, and say so; raises what the verb raises."""
        raise NotImplementedError


class ItemForm(AdminForm):
    """An item that an admin writes."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    question = TextField(
        label="Query",
        max_length=bank.LONGEST,
        widget=forms.Textarea({"rows": 2, "data-draft": "question"}),
    )
    answers = TextField(
        label="Answers",
        required=False,
        help_text="One a line.",
        max_length=bank.LONGEST,
        widget=forms.Textarea({"rows": 2, "data-draft": "answers"}),
    )
    passage = TextField(
        label="Passage",
        max_length=bank.LONGEST,
        widget=forms.Textarea({"rows": 4, "data-draft": "passage"}),
    )
    label = forms.TypedChoiceField(
        label="Right answer", choices=[("1", "relevant"), ("0", "not relevant")], coerce=int
    )
    explanation = TextField(
        label="Explanation",
        required=False,
        help_text="Shown after a practice item.",
        max_length=4000,
        widget=forms.Textarea({"rows": 2, "data-draft": "explanation"}),
    )
    is_practice = forms.BooleanField(label="For practice only", required=False)

    def clean_answers(self) -> list[str]:
        """The lines that are not empty."""
        lines = self.cleaned_data["answers"].splitlines()
        return [line.strip() for line in lines if line.strip()]

    def act(self, actor: User) -> str:
        """Add the item."""
        item = ExamItem(**self.cleaned_data)
        bank.add_items(domain=item.domain, actor=actor, items=[item])
        return "One item was added."


class ItemFileForm(AdminForm):
    """Items as CSV."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    file = forms.FileField(
        label="CSV file",
        help_text="Columns question, answers (a JSON list, or one answer), passage, label (1 or "
        "0), and if you like explanation and practice (1).",
    )

    def act(self, actor: User) -> str:
        """Add the file's items."""
        items = bank.read_lines(csv_rows(self.cleaned_data["file"], ITEM_COLUMNS))
        added = bank.add_items(domain=self.cleaned_data["domain"], actor=actor, items=items)
        return f"{len(added)} items were added."


class DrawForm(AdminForm):
    """Items out of the benchmark's own gold."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    count = forms.IntegerField(label="Items", min_value=1, max_value=bank.MOST_DRAWN, initial=20)
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31 - 1, initial=1)
    practice = forms.BooleanField(label="For practice only", required=False)

    def act(self, actor: User) -> str:
        """Draw them."""
        drawn = bank.draw_items(actor=actor, **self.cleaned_data)
        return f"{len(drawn)} items were drawn. Look at them before you ask for the exam."


class RuleForm(AdminForm):
    """What the benchmark asks before people vote."""

    required = forms.BooleanField(label="People must qualify before they vote", required=False)
    pass_mark = forms.IntegerField(
        label="Pass mark", min_value=0, max_value=100, help_text="Of 100; 90 is usual."
    )
    exam_size = forms.IntegerField(label="Items of an exam", min_value=1, max_value=200)
    needs_approval = forms.BooleanField(label="Ask for approved work elsewhere", required=False)
    approval_above = forms.IntegerField(
        label="Approval rate above", min_value=0, max_value=100, help_text="Percent of the work."
    )
    approved_least = forms.IntegerField(
        label="Minimum approved pieces", min_value=0, max_value=10**9
    )
    recheck_below = forms.IntegerField(
        label="Require a new exam below",
        min_value=0,
        max_value=100,
        help_text="Percent of the last attention checks that were right.",
    )
    recheck_window = forms.IntegerField(
        label="Attention checks counted", min_value=1, max_value=200
    )
    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        rule = rule_of(benchmark)
        start = model_to_dict(rule) | {"expected": rule.version}
        super().__init__(*args, benchmark=benchmark, initial=start, **kwargs)

    def act(self, actor: User) -> str:
        """Save it."""
        set_rule(benchmark=self.benchmark, actor=actor, **self.cleaned_data)
        return "Saved."


class ApprovalForm(AdminForm):
    """Approval history as CSV."""

    file = forms.FileField(
        label="CSV file", help_text="Columns username, rate (percent), approved (pieces)."
    )

    def act(self, actor: User) -> str:
        """Keep the history."""
        rows = csv_rows(self.cleaned_data["file"], APPROVAL_COLUMNS)
        kept = import_approvals(benchmark=self.benchmark, actor=actor, rows=rows)
        return f"The history of {len(kept)} people was kept."


class RecheckForm(AdminForm):
    """Asking somebody to take the exam again."""

    person = forms.ModelChoiceField(User.objects.none(), label="Person")
    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain")
    reason = forms.CharField(label="Explanation", max_length=300)

    def act(self, actor: User) -> str:
        """Ask for it."""
        asked = ask_recheck(actor=actor, **self.cleaned_data)
        return f"{asked.person} has to take the exam of {asked.domain} again."
