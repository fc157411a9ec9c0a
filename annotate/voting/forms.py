"""The form of a vote; cleaned values are what the verbs take."""

from django import forms

from kit.numbers import number

LABELS: dict[str, int | None] = {"1": 1, "0": 0, "abstain": None}
CHOOSE = "Choose 1 relevant, 2 not relevant or 3 cannot be judged."
NO_SPAN = dict.fromkeys(
    ("invalid", "min_value"), "The marked words are not in the passage. Mark them again."
)
MAX_ELAPSED_MS = 24 * 60 * 60 * 1000


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
        elapsed = number(text)
        return None if elapsed is None or elapsed > MAX_ELAPSED_MS else elapsed

    def clean(self) -> dict[str, object]:
        """An abstention is data only with its reason; the ends of the marked words are a span."""
        data = super().clean() or self.cleaned_data
        if "label" in data and data["label"] is None and not data.get("reason"):
            self.add_error("reason", "Say in a few words why it cannot be judged.")
        start, end = data.pop("span_start", None), data.pop("span_end", None)
        data["span"] = None if start is None or end is None else (start, end)
        return data
