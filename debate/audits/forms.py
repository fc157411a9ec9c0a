"""The forms of draws."""

from typing import Any

from django import forms

from debate.audits.services import HIGHEST_SEED, MOST
from kit.errors import Refused


class AuditForm(forms.Form):
    """How many agreed pairs are drawn, and the seed of the draw."""

    size = forms.IntegerField(
        label="Pairs",
        min_value=1,
        max_value=MOST,
        initial=150,
        error_messages={
            "required": "Say how many pairs to draw.",
        },
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=HIGHEST_SEED,
        initial=1,
        help_text="The same seed draws the same pairs again.",
    )

    def given(self) -> dict[str, Any]:
        """What was typed; raises Refused with all that is wrong with it."""
        if not self.is_valid():
            raise Refused(" ".join(str(each) for errors in self.errors.values() for each in errors))
        return self.cleaned_data


class BlindAuditForm(AuditForm):
    """The same for pairs that people judge again, and where they are drawn."""

    by_error = forms.BooleanField(
        required=False,
        label="More of the label that earlier audits are least sure of",
        help_text="Sharpens the corrected figures; such a draw has no bound of its own.",
    )
