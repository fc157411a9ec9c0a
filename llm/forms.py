"""What forms that start paid work share."""

from typing import Final

from django import forms

from llm.endpoints import available

NEVER_OVERSPENT: Final = (
    "Never overspent; empty for no limit. A run without room for a call pauses."
)


def endpoint_choices(role: str) -> list[tuple[str, str]]:
    """The endpoints with their models; first, and so chosen, the one that has this role."""
    return [(each.name, f"{each.name} ({each.default_model})") for each in available(role)]


def budget_field(help_text: str = NEVER_OVERSPENT) -> forms.DecimalField:
    """What a run may spend, in whole cents; empty for no limit."""
    return forms.DecimalField(
        label="Budget in USD",
        min_value=0,
        max_digits=9,
        decimal_places=2,
        required=False,
        help_text=help_text,
    )
