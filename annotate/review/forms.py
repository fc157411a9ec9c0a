"""Forms of the review screens; cleaned values are what the verbs take."""

from typing import Any

from django import forms

from annotate.forms import TextField
from annotate.models import Aspect
from annotate.review.models import PASSAGE_CHECKS
from annotate.workspace.gold import DiscardReason
from annotate.workspace.models import SCALE_TOP

_LONGEST = 4000
ANSWERS = ("agree", "object", "yield", "uphold", "overrule", "unsettle")


class NoteForm(forms.Form):
    """What somebody says with a move."""

    text = TextField(required=False, max_length=_LONGEST)


class BlindForm(forms.Form):
    """One weight per aspect; `weights` maps the aspects' keys to what was chosen."""

    def __init__(self, *args: Any, aspects: list[Aspect], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in aspects:
            top = SCALE_TOP[each.scale]
            message = f"Choose a weight from 1 to {top} for a{each.k}."
            self.fields[f"weight-{each.pk}"] = forms.IntegerField(
                min_value=1,
                max_value=top,
                error_messages=dict.fromkeys(
                    ("required", "invalid", "min_value", "max_value"), message
                ),
            )

    @property
    def weights(self) -> dict[int, int]:
        """What the verb takes."""
        return {
            int(name.removeprefix("weight-")): value for name, value in self.cleaned_data.items()
        }

    @property
    def messages(self) -> list[str]:
        """Every error once."""
        return [str(error) for errors in self.errors.values() for error in errors]


class AspectsCheckForm(forms.Form):
    """One of the four questions."""

    key = forms.CharField(max_length=20)
    fine = forms.TypedChoiceField(choices=[("1", "yes"), ("0", "no")], coerce=lambda v: v == "1")
    note = TextField(required=False, max_length=_LONGEST)


class WeightCheckForm(forms.Form):
    """The weight that the reviewer finds right."""

    weight = forms.IntegerField(min_value=1, max_value=5)
    note = TextField(required=False, max_length=_LONGEST)


class PassageCheckForm(forms.Form):
    """`keep` answers all three questions with Yes; else each has its box."""

    keep = forms.BooleanField(required=False)
    explicit = forms.BooleanField(required=False)
    credible = forms.BooleanField(required=False)
    relevant = forms.BooleanField(required=False)
    reason = forms.ChoiceField(choices=[("", ""), *DiscardReason.choices], required=False)
    note = TextField(required=False, max_length=_LONGEST)

    def clean(self) -> dict[str, Any]:
        """`checks` as the verb takes them; removing needs at least one No."""
        data = super().clean() or self.cleaned_data
        keep = bool(data.pop("keep", False))
        answers = {name: keep or bool(data.pop(name, False)) for name in PASSAGE_CHECKS}
        kept = {name: value for name, value in data.items() if name not in PASSAGE_CHECKS}
        if not keep and all(answers.values()):
            raise forms.ValidationError("Take the tick from what the passage is not.")
        return {**kept, "checks": answers}


class PointForm(forms.Form):
    """An answer to one point."""

    do = forms.ChoiceField(choices=[(name, name) for name in ANSWERS])
    text = TextField(required=False, max_length=_LONGEST)


def first_error(form: forms.Form) -> str:
    """The first thing that is wrong, in words."""
    return next(str(error) for errors in form.errors.values() for error in errors)
