"""The form of a new version of the guidelines."""

from django import forms

from annotate.forms import TextField


class GuidelineForm(forms.Form):
    """A new version of the guidelines, written over the version that was current."""

    text = TextField(
        label="Guidelines",
        help_text="Markdown: # for headings, - for lists, > for examples.",
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 24}),
    )
    note = forms.CharField(label="What is new", max_length=500, required=False)
    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
