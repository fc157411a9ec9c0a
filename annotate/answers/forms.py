"""Forms of reference answers and of their blind comparisons."""

from django import forms

from annotate.answers import comparing, rating
from annotate.answers.services import LONGEST
from annotate.models import AnswerVerdict
from annotate.review.forms import SampleForm
from annotate.review.rescoring import MAX_SIZE


class AnswerForm(forms.Form):
    """A submitted answer, the version it replaces, and what it was started from."""

    text = forms.CharField(max_length=LONGEST, strip=False, required=False)
    version = forms.IntegerField(min_value=0)
    reason = forms.CharField(max_length=2000, required=False)
    base = forms.IntegerField(required=False, min_value=1)
    from_import = forms.BooleanField(required=False)


class ReviewForm(forms.Form):
    """A second person's verdict."""

    verdict = forms.ChoiceField(choices=AnswerVerdict.choices, widget=forms.RadioSelect)
    note = forms.CharField(
        label="What should change", required=False, max_length=4000, widget=forms.Textarea
    )


class DrawForm(SampleForm):
    """How many queries, and the seed that draws them again."""

    size = forms.IntegerField(
        label="Queries",
        min_value=1,
        max_value=MAX_SIZE,
        initial=comparing.SIZE,
        help_text="Drawn by domain, in proportion to its queries with gold passages.",
    )


def _points(place: str, what: str) -> forms.TypedChoiceField:
    missing = f"Give the {place} answer 1 to 5 points for {what}."
    return forms.TypedChoiceField(
        choices=[(value, str(value)) for value in rating.POINTS],
        coerce=int,
        error_messages={"required": missing, "invalid_choice": missing},
    )


class RatingForm(forms.Form):
    """Points for both answers as they were shown, and which is better."""

    first_completeness = _points("first", "completeness")
    first_quality = _points("first", "overall quality")
    second_completeness = _points("second", "completeness")
    second_quality = _points("second", "overall quality")
    preferred = forms.ChoiceField(
        choices=[(value, value) for value in (rating.FIRST, rating.SECOND, rating.NEITHER)],
        error_messages={"required": "Say which answer is better, or neither."},
    )
    note = forms.CharField(max_length=4000, required=False)
    reason = forms.CharField(max_length=2000, required=False)
