"""Forms of the review screens; cleaned values are what the verbs take."""

from typing import Any

from django import forms

from annotate.forms import TextField
from annotate.models import Aspect
from annotate.review.acts import ANSWERS
from annotate.review.models import PASSAGE_CHECKS
from annotate.review.rescoring import MAX_SEED, MAX_SIZE, SEED, SIZE
from annotate.workspace.gold import DiscardReason
from annotate.workspace.models import SCALE_TOP


def _note() -> TextField:
    return TextField(required=False, max_length=4000)


class MoveForm(forms.Form):
    """What somebody says with a move; `third` is the key of who settles, for that move."""

    text = _note()
    third = forms.CharField(required=False)


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
    note = _note()


class WeightCheckForm(forms.Form):
    """The weight that the reviewer finds right."""

    weight = forms.IntegerField(min_value=1, max_value=max(SCALE_TOP.values()))
    note = _note()


class PassageCheckForm(forms.Form):
    """`keep` answers all three questions with Yes; else `lacks` names those answered with No."""

    keep = forms.BooleanField(required=False)
    lacks = forms.MultipleChoiceField(choices=[*PASSAGE_CHECKS.items()], required=False)
    reason = forms.ChoiceField(choices=[("", ""), *DiscardReason.choices], required=False)
    note = _note()

    def clean(self) -> dict[str, Any]:
        """`checks` as the verb takes them; removing needs at least one No."""
        data = super().clean() or self.cleaned_data
        lacks = [] if data["keep"] else data.get("lacks", [])
        checks = {name: name not in lacks for name in PASSAGE_CHECKS}
        if not data["keep"] and not lacks:
            raise forms.ValidationError("Tick what the passage is not.")
        return {"checks": checks} | {
            name: data[name] for name in ("reason", "note") if name in data
        }


class PointForm(forms.Form):
    """An answer to one point."""

    text = _note()
    do = forms.ChoiceField(choices=[(name, name) for name in ANSWERS])


class SampleForm(forms.Form):
    """How many queries, and the seed that draws them again."""

    size = forms.IntegerField(
        label="Queries",
        min_value=1,
        max_value=MAX_SIZE,
        initial=SIZE,
        help_text="Drawn by domain, in proportion to its queries with aspects.",
    )
    seed = forms.IntegerField(
        label="Seed", min_value=0, max_value=MAX_SEED, initial=SEED,
        help_text="The same seed draws the same queries from the same benchmark.",
    )  # fmt: skip
