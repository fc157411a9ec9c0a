"""The form of a voting plan."""

from typing import ClassVar

from django import forms

from annotate.models import VotingPlan
from annotate.plans.services import FIELDS


class PlanForm(forms.ModelForm):
    """A new version of the voting plan, which replaces version `expected`."""

    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    class Meta:
        model = VotingPlan
        fields = FIELDS
        labels: ClassVar = {
            "batch_size": "Items in a batch",
            "reveal": "The agents’ positions are shown",
            "needs_span": "“Relevant” needs the words of the passage that support it",
            "lease_minutes": "Minutes a place is kept for one person",
            "seconds_per_item": "Seconds an item is expected to take",
            "hourly_pay": "Pay per hour",
            "consent_text": "What people agree to before they begin",
        }
        help_texts: ClassVar = {
            "batch_size": "0: no batches, every vote counts when it is given. In batches, 10 % of "
            "the items, at least one, are attention checks.",
            "hourly_pay": "Empty: nobody is paid.",
            "currency": "Three letters.",
            "consent_text": "Markdown. Empty: nothing is asked. A changed text or pay asks again.",
        }
        widgets: ClassVar = {"consent_text": forms.Textarea(attrs={"rows": 8})}
