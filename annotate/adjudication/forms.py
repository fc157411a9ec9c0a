"""Forms of adjudication and of messages to voters."""

from django import forms

from annotate.forms import TextField

_LONGEST = 4000


class SettleForm(forms.Form):
    """A decision with its reason: a label of a pair, or the weight of an aspect."""

    label = forms.TypedChoiceField(
        choices=[("1", "relevant"), ("0", "not relevant")],
        coerce=int,
        empty_value=None,
        required=False,
    )
    weight = forms.IntegerField(min_value=1, max_value=5, required=False)
    reason = TextField(max_length=_LONGEST, error_messages={"required": "Say why you decide so."})


class MessageForm(forms.Form):
    """What an admin tells a voter; `batch` or `case` say what it is about."""

    text = TextField(
        label="Message",
        max_length=_LONGEST,
        widget=forms.Textarea(attrs={"rows": 4, "data-draft": "text"}),
        error_messages={"required": "Write the message first."},
    )
    batch = forms.IntegerField(
        label="About batch",
        required=False,
        min_value=1,
        help_text="Its number, if it is about one.",
    )
    case = forms.IntegerField(
        label="About case",
        required=False,
        min_value=1,
        help_text="Its number, if it is about one that is decided.",
    )
