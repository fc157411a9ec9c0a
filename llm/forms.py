"""What forms that start paid work share."""

from typing import Final

from django import forms

NEVER_OVERSPENT: Final = (
    "Never overspent; empty for no limit. A run without room for a call pauses."
)


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
