"""Forms of benchmarks and people."""

import re
from typing import Any

from django import forms

from corpus.models import Benchmark, Layer, Membership, Role

MOST_PEOPLE, LONGEST_NAME = 100, 150


class BenchmarkForm(forms.Form):
    """A new benchmark."""

    name = forms.CharField(label="Name", max_length=120)
    slug = forms.SlugField(
        label="Short name", max_length=60, help_text="Used in addresses: letters, digits, hyphens."
    )
    description = forms.CharField(
        label="Description", required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    licence = forms.CharField(
        label="Licence", max_length=120, required=False, help_text="For example CC BY 4.0."
    )


class LicenceForm(forms.Form):
    """The licence of a layer."""

    domain: forms.Field = forms.ModelChoiceField(
        None, label="Domain", required=False, empty_label="Every domain"
    )
    layer = forms.ChoiceField(label="Of", choices=Layer.choices)
    licence = forms.CharField(label="Licence", max_length=120, help_text="For example CC BY 4.0.")
    url = forms.CharField(label="Licence URL", max_length=2000, required=False)
    attribution = forms.CharField(
        label="Attribution", required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    text = forms.CharField(
        label="Full text of the licence",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Printed in LICENCE.md of every release.",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["domain"].queryset = benchmark.domains.ready()  # type: ignore[attr-defined]


class PlaceForm(forms.Form):
    """Roles and domains of a member."""

    roles = forms.MultipleChoiceField(
        label="Roles", choices=Role.choices, widget=forms.CheckboxSelectMultiple
    )
    domains: forms.Field = forms.ModelMultipleChoiceField(
        None,
        label="Domains",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Choose none for every domain.",
    )

    def __init__(
        self, *args: Any, benchmark: Benchmark, membership: Membership | None = None, **kwargs: Any
    ) -> None:
        if membership is not None:
            kwargs["initial"] = {
                "roles": membership.roles,
                "domains": membership.domains.all(),
            }
        super().__init__(*args, **kwargs)
        self.fields["domains"].queryset = benchmark.domains.ready()  # type: ignore[attr-defined]


class PersonForm(PlaceForm):
    """New members, with the same roles and domains."""

    username = forms.CharField(
        label="User names",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One on a line, or with commas between: a pasted list. A new person gets an "
        "account and a one-time sign-in link.",
    )
    field_order = ["username", "roles", "domains"]

    def clean_username(self) -> list[str]:
        """The names, each once."""
        names = [each.strip() for each in re.split(r"[\n,;]", self.cleaned_data["username"])]
        found = list(dict.fromkeys(filter(None, names)))
        if not found:
            raise forms.ValidationError("Write at least one name.")
        if len(found) > MOST_PEOPLE:
            raise forms.ValidationError(f"Add at most {MOST_PEOPLE} people at once.")
        for each in found:
            if len(each) > LONGEST_NAME:
                raise forms.ValidationError(f"A name has at most {LONGEST_NAME} characters.")
        return found
