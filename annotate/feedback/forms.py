"""The form of a message to a voter."""

from django import forms

from annotate.forms import TextField


class MessageForm(forms.Form):
    """A message to a voter; `batch` or `case` say what it is about."""

    text = TextField(
        label="Message",
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4, "data-draft": "text"}),
        error_messages={"required": "Write the message first."},
    )
    batch = forms.IntegerField(
        label="About batch",
        required=False,
        min_value=1,
        help_text="Its number, if it is about one.",
    )
    case = forms.UUIDField(
        label="About case",
        required=False,
        help_text="Its id, as its address has it, if it is about one that is decided.",
    )
