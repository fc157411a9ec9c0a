"""Forms that several nouns share; cleaned values are what the verbs take."""

from typing import ClassVar

from django import forms

from annotate.models import VotingPlan
from annotate.plans.services import FIELDS
from annotate.workspace.changes import plain

LABELS: dict[str, int | None] = {"1": 1, "0": 0, "abstain": None}
CHOOSE = "Choose 1 relevant, 2 not relevant or 3 cannot be judged."
NO_SPAN = dict.fromkeys(
    ("invalid", "min_value"), "The marked words are not in the passage. Mark them again."
)
LONGEST_SITTING_MS = 24 * 60 * 60 * 1000
_LONGEST = len(str(LONGEST_SITTING_MS))


class VoteForm(forms.Form):
    """One vote. `label` becomes 1, 0 or None (cannot be judged, which needs a reason)."""

    label = forms.ChoiceField(
        choices=[(word, word) for word in LABELS],
        error_messages={"required": CHOOSE, "invalid_choice": CHOOSE},
    )
    reason = forms.CharField(
        required=False, max_length=4000, widget=forms.Textarea(attrs={"rows": 3})
    )
    elapsed_ms = forms.CharField(required=False)
    span_start = forms.IntegerField(required=False, min_value=0, error_messages=NO_SPAN)
    span_end = forms.IntegerField(required=False, min_value=1, error_messages=NO_SPAN)

    def clean_label(self) -> int | None:
        """The label as it is stored."""
        return LABELS[self.cleaned_data["label"]]

    def clean_elapsed_ms(self) -> int | None:
        """The time measured by the browser; what makes no sense is not known, never an error."""
        text = self.cleaned_data["elapsed_ms"]
        # Of short texts only: thousands of digits are an error of int(), not a number.
        known = len(text) <= _LONGEST and text.isascii() and text.isdigit()
        return int(text) if known and int(text) <= LONGEST_SITTING_MS else None

    def clean(self) -> dict[str, object]:
        """An abstention is data only with its reason; the ends of the marked words are a span."""
        data = super().clean() or self.cleaned_data
        if "label" in data and data["label"] is None and not data.get("reason"):
            self.add_error("reason", "Say in a few words why it cannot be judged.")
        start, end = data.pop("span_start", None), data.pop("span_end", None)
        data["span"] = None if start is None or end is None else (start, end)
        return data


class PlanForm(forms.ModelForm):
    """A new version of the voting plan, written over the version that was in force."""

    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    class Meta:
        model = VotingPlan
        fields = FIELDS
        labels: ClassVar = {
            "batch_size": "Items in a batch",
            "reveal": "The agents’ positions are shown",
            "needs_span": "“Relevant” needs the words of the passage that support it",
            "lease_minutes": "Minutes a place is kept for one person",
            "seconds_per_item": "Seconds an item is expected to take",
            "hourly_pay": "Pay per hour",
            "consent_text": "What people agree to before they begin",
        }
        help_texts: ClassVar = {
            "batch_size": "0: no batches, every vote counts when it is given. In batches, 10 % of "
            "the items, at least one, are attention checks.",
            "hourly_pay": "Empty: nobody is paid.",
            "currency": "Three letters.",
            "consent_text": "Markdown. Empty: nothing is asked. A changed text or pay asks again.",
        }
        widgets: ClassVar = {"consent_text": forms.Textarea(attrs={"rows": 8})}


class TextField(forms.CharField):
    """A longer text. Its line ends count as one character, as they do in the browser."""

    def to_python(self, value: object) -> str:
        """The text as it is stored."""
        return str(plain(super().to_python(value)))
