"""Forms of the workspace; cleaned values are what the verbs take."""

from typing import Any

from django import forms

from annotate.forms import TextField
from annotate.workspace.changes import plain
from annotate.workspace.models import SCALE_TOP
from annotate.workspace.restructuring import Part
from kit.errors import Refused

CHOOSE_PIECE = "Choose a piece of the page first."
# How many parts a split offers; two of them must be written.
PARTS = 4
_TOP = max(SCALE_TOP.values())


def cleaned(form: forms.Form) -> dict[str, Any]:
    """The cleaned values; Refused, naming the field, with the first thing that is wrong."""
    if form.is_valid():
        return form.cleaned_data
    field, errors = next(iter(form.errors.items()))
    raise Refused(str(errors[0]), field=field)


class _AspectFields(forms.Form):
    content = TextField(required=False, max_length=10_000)
    rationale = TextField(required=False, max_length=20_000)
    weight = forms.IntegerField(
        min_value=1, max_value=_TOP, required=False, error_messages={"invalid": "Choose a weight."}
    )


class AspectForm(_AspectFields):
    """An aspect as it is being written: anything may still be empty, the weight not chosen yet."""

    version = forms.IntegerField(min_value=1)

    def base(self) -> dict[str, object]:
        """What the fields held when the writing began, of those for which the form says it."""
        given = {name: self.data.get(f"base_{name}") for name in ("content", "rationale", "weight")}
        known = {name: plain(value) for name, value in given.items() if value is not None}
        if "weight" in known:
            weight = str(known.pop("weight"))
            is_one = weight.isascii() and weight.isdigit() and 1 <= int(weight[:4]) <= _TOP
            known |= {"weight": int(weight)} if is_one else {}
        return known


class PartForm(_AspectFields):
    """One of the aspects that an aspect becomes; an empty one is not meant."""

    def is_written(self) -> bool:
        """Whether it says anything."""
        return bool(str(self["content"].value() or "").strip())

    def part(self) -> Part:
        """What the verb takes; raises Refused for what cannot be read."""
        data = cleaned(self)
        if data["weight"] is None:
            raise Refused("Choose a weight for every part.", field="weight")
        return Part(data["content"], data["weight"], data["rationale"])


class RemakeForm(forms.Form):
    """Passages of one page that become one; a slice of the page or a text where they were cut."""

    start = forms.IntegerField(min_value=0, required=False)
    end = forms.IntegerField(min_value=1, required=False)
    aspect = forms.IntegerField(error_messages={"required": "Choose the aspect it supports."})
    text = TextField(required=False, max_length=200_000)


class PageUrlForm(forms.Form):
    """The address of a page to fetch."""

    url = forms.CharField(
        label="Address of the page",
        max_length=2000,
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "data-key": "p"}),
    )
    again = forms.BooleanField(label="Fetch again, even if it was collected before", required=False)


class PageTextForm(forms.Form):
    """A page that cannot be fetched, as its text."""

    text = TextField(
        label="Text",
        max_length=2_000_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "data-draft": "text"}),
    )
    title = forms.CharField(max_length=300, required=False)
    url = forms.CharField(label="Address", max_length=2000, required=False)


class PageFileForm(forms.Form):
    """A page that cannot be fetched, as a file."""

    upload = forms.FileField(label="HTML, PDF or text file")
    url = forms.CharField(label="Address", max_length=2000, required=False)


class SegmentForm(forms.Form):
    """A piece of a page, in code points, and the aspect that it supports."""

    start = forms.IntegerField(min_value=0, error_messages={"required": CHOOSE_PIECE})
    end = forms.IntegerField(min_value=1, error_messages={"required": CHOOSE_PIECE})
    aspect = forms.IntegerField(required=False)
    # The passage that the piece takes the place of, where one is cut anew.
    recut = forms.IntegerField(required=False)
    text = TextField(required=False, max_length=200_000)
    main_only = forms.BooleanField(required=False)

    def clean(self) -> dict[str, object]:
        """A new piece needs its aspect; one that is cut anew keeps the one it had."""
        data = super().clean() or self.cleaned_data
        if not self.errors and data.get("aspect") is None and not data.get("recut"):
            self.add_error("aspect", "Choose the aspect it supports.")
        return data
