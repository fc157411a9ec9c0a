"""Forms of how far a judge can be trusted."""

from django import forms

from annotate.review.rescoring import MAX_SEED, MAX_SIZE
from evaluation.agents.forms import JudgeForm
from evaluation.agents.trust.bridges import SEED, SIZE


class BridgeForm(JudgeForm):
    """Which other judge is asked about how many of the answers."""

    size = forms.IntegerField(
        label="Answers",
        min_value=1,
        max_value=MAX_SIZE,
        initial=SIZE,
        help_text="Drawn by domain from what this judge has judged.",
    )
    seed = forms.IntegerField(min_value=0, max_value=MAX_SEED, initial=SEED)
    swapped = forms.BooleanField(
        required=False,
        label="Show the aspects the other way round",
        help_text="By the same model: whether their order matters (the judge’s card).",
    )
    field_order = ("endpoint", "mode", "swapped", "size", "seed", "repetitions", "budget_usd")
