"""Forms of benchmarks and people."""

from typing import Any

from django import forms

from corpus.models import Benchmark, Membership, Role


class BenchmarkForm(forms.Form):
    """A new benchmark."""

    name = forms.CharField(label="Name", max_length=120)
    slug = forms.SlugField(
        label="Short name", max_length=60, help_text="Used in addresses: letters, digits, hyphens."
    )
    description = forms.CharField(
        label="What it is", required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    licence = forms.CharField(
        label="Licence", max_length=120, required=False, help_text="For example CC BY 4.0."
    )


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
        help_text="None chosen means every domain.",
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
    """A new member."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        help_text="A new person gets an account and a one-time sign-in link.",
    )
    field_order = ["username", "roles", "domains"]
