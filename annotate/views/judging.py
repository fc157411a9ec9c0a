"""What the vote page shows of one item, a case or an item of a batch, and how it is sent."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from annotate.forms import VoteForm
from annotate.models import AttentionCheck, EscalationCase, Reveal
from annotate.services.arms import as_shown, is_shown
from annotate.views.items import item_context

LABEL_WORDS = {1: "relevant", 0: "not relevant", None: "cannot be judged"}


def stage_of(arm: str, *, committed: bool) -> str:
    """The next answer is the `first` judgment, the `final` one after it, or the `only` one."""
    if arm != Reveal.AFTER:
        return "only"
    return "final" if committed else "first"


def judged_context(
    item: EscalationCase | AttentionCheck, *, arm: str, seed: int, committed: bool
) -> dict[str, Any]:
    """The pair as this person may see it now."""
    raw = as_shown(item.snapshot, seed=seed, shown=is_shown(arm, committed=committed))
    return item_context(item, raw) | {"stage": stage_of(arm, committed=committed), "raw": raw}


def with_default(request: HttpRequest) -> dict[str, str]:
    """Sent from the reason field by Ctrl+Enter, no button says the label; its form does."""
    posted = {name: str(value) for name, value in request.POST.items()}
    return {"label": posted.get("asked", "")} | posted


def asked_again(form: VoteForm) -> dict[str, Any]:
    """Context of a form that came back: what was chosen stays what Ctrl+Enter sends."""
    label = form.data.get("label", "")
    return {"form": form, "asked": label if label in ("1", "0") else "abstain"}


def clash(stored: int | None, sent: Mapping[str, Any], at: Any) -> dict[str, Any]:
    """Both answers of one person to one item, side by side."""
    label = sent.get("label")
    return {
        "clash": {
            "stored": LABEL_WORDS[stored],
            "at": at or timezone.now(),
            "sent": LABEL_WORDS[label],
            "value": "abstain" if label is None else str(label),
            "reason": sent.get("reason", ""),
            "span": sent.get("span"),
        }
    }
