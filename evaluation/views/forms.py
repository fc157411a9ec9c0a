"""The form that asks for a release."""

from django import forms


class ReleaseForm(forms.Form):
    """Only its version is a person's choice: what goes in is what stands."""

    version = forms.CharField(
        max_length=40,
        label="Version",
        help_text="Three numbers. Raise the last for mends, the middle for new labels, the first "
        "when old results can no longer be compared.",
    )
