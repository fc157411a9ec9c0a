"""The form of a voting plan."""

from typing import ClassVar

from django import forms
from django.forms import BoundField

from annotate.models import VotingPlan
from annotate.plans.services import CHECKS, FIELDS


class ChecksForm(forms.Form):
    """Which checks gate people's labels."""

    exam = forms.BooleanField(label=CHECKS["exam"], required=False)
    batches = forms.BooleanField(label=CHECKS["batches"], required=False)
    consent = forms.BooleanField(label=CHECKS["consent"], required=False)
    audit = forms.BooleanField(label=CHECKS["audit"], required=False)


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
            "lease_minutes": "Minutes a vote is reserved for one person",
            "seconds_per_item": "Seconds an item is expected to take",
            "hourly_pay": "Pay per hour",
            "audit": "Agreed pairs of a new debate run that people judge blind",
            "audit_bar": "Maximum share of wrong labels in a final release",
            "consent_text": "What people agree to before they begin",
        }
        help_texts: ClassVar = {
            "batch_size": "0: no batches, every vote counts when it is given. In batches, 10 % of "
            "the items, at least one, are attention checks.",
            "hourly_pay": "Empty: nobody is paid.",
            "currency": "Three letters.",
            "audit_bar": "A share such as .05, compared with the exact upper bound (95 %) of the "
            "share that blind audits find. Empty: no limit.",
            "consent_text": "Markdown. Empty: nothing is asked. A changed text or pay asks again.",
        }
        widgets: ClassVar = {
            "consent_text": forms.Textarea(attrs={"rows": 8, "data-draft": "consent_text"})
        }

    def first(self) -> list[BoundField]:
        """What most plans set."""
        return [self[name] for name in ("expected", "batch_size", "reveal", "needs_span")]

    def advanced(self) -> list[BoundField]:
        """The rest."""
        shown = {field.name for field in self.first()}
        return [field for field in self if field.name not in shown]

    def in_force(self) -> str:
        """The advanced settings in a line, as they are chosen now."""
        chosen = {field.name: field.value() for field in self.advanced()}
        pay, currency = chosen["hourly_pay"], chosen["currency"]
        return ", ".join(
            [
                f"a place is kept {chosen['lease_minutes']} minutes",
                f"{chosen['seconds_per_item']} seconds an item",
                f"{pay} {currency} an hour" if pay else "nobody is paid",
                "consent is asked for" if chosen["consent_text"] else "no consent is asked for",
            ]
        )

    def advanced_is_wrong(self) -> bool:
        """Whether one of the advanced settings was refused."""
        return self.is_bound and any(field.errors for field in self.advanced())
