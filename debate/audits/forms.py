"""The form of an audit's draw."""

from django import forms

from debate.audits.services import HIGHEST_SEED, MOST
from kit.errors import Refused


class AuditForm(forms.Form):
    """How many agreed pairs people judge again, and the seed of the draw."""

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

    def given(self) -> dict[str, int]:
        """What was typed; raises Refused with all that is wrong with it."""
        if not self.is_valid():
            raise Refused(" ".join(str(each) for errors in self.errors.values() for each in errors))
        return self.cleaned_data
