"""Forms of reference panels."""

from typing import Any

from django import forms

from annotate.panels.models import MAX_PER_DOMAIN
from annotate.panels.services import MAX_PRACTICE, MAX_SEED
from corpus.models import Benchmark, Pool


def _number(label: str, least: int, most: int, initial: int, words: str = "") -> Any:
    return forms.IntegerField(
        label=label, min_value=least, max_value=most, initial=initial, help_text=words
    )


class PanelForm(forms.Form):
    """What is drawn, and what is asked of the experts; DREAM's numbers to begin with."""

    name = forms.CharField(label="Name", max_length=120)
    pool = forms.ModelChoiceField(
        Pool.objects.none(),
        label="Drawn from",
        required=False,
        empty_label="every pool",
        help_text="One random pooled passage of each query.",
    )
    per_domain = _number(
        "Queries of each domain", 1, MAX_PER_DOMAIN, 100, "All of them where there are fewer."
    )
    seed = _number("Seed", 0, MAX_SEED, 1, "The same seed draws the same pairs again.")
    labels_per_item = forms.TypedChoiceField(
        label="Labels of each item",
        coerce=int,
        choices=[(1, "one expert"), (2, "two experts, blind to each other")],
        initial=1,
    )
    practice_items = _number(
        "Practice items", 0, MAX_PRACTICE, 5, "With feedback, before the first real item."
    )
    shows_hints = forms.BooleanField(
        label="Each item is shown with two reasons, one for and one against",
        required=False,
        initial=True,
        help_text="A model writes them before the panel opens.",
    )
    check_percent = _number(
        "Spot check, in percent of the items", 0, 100, 10, "A senior looks at these."
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pools = Pool.objects.filter(benchmark=benchmark)
        self.fields["pool"].queryset = pools  # type: ignore[attr-defined]
