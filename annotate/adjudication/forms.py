"""The form of a decision."""

from django import forms

from annotate.forms import TextField
from annotate.workspace.models import SCALE_TOP


class SettleForm(forms.Form):
    """A decision with its reason: a label of a pair, or the weight of an aspect."""

    label = forms.TypedChoiceField(
        choices=[("1", "relevant"), ("0", "not relevant")],
        coerce=int,
        empty_value=None,
        required=False,
    )
    weight = forms.IntegerField(min_value=1, max_value=max(SCALE_TOP.values()), required=False)
    reason = TextField(max_length=4000, error_messages={"required": "Say why you decide so."})
