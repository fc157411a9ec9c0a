"""What a page shows of a case or attention check, and how an answer to it is sent."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from annotate.models import AttentionCheck, Condition, EscalationCase, VotingPlan
from annotate.plans.services import as_shown, begins_alone
from annotate.voting.forms import VoteForm
from annotate.voting.snapshot import read_snapshot, segments
from corpus.models import Query

LONGEST_TITLE = 200  # characters; a longer one is read as text


def item_context(
    item: EscalationCase | AttentionCheck, shown: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Context of annotate/item.html and annotate/positions.html.

    `shown` is what this reader sees of the item's snapshot; all of it where it is not given.
    """
    text = item.passage.text or ""
    snapshot = read_snapshot(item.snapshot if shown is None else shown, text)
    document = item.passage.document
    return {
        "passage": item.passage,
        "snapshot": snapshot,
        **titled(snapshot.question, item.query),
        "segments": segments(text, snapshot.spans),
        "page_title": item.passage.title or (document.title if document else ""),
        "source_url": web_url(item.passage.address),
    }


def titled(question: str, query: Query | None = None) -> dict[str, str]:
    """`head`, what is set as a title, and the `rest` of a question.

    A question whose query has a title begins with it; any other is one whole. What is too long
    for a title is read as text.
    """
    whole = question.strip()
    head, _, rest = whole.partition("\n") if query and query.has_title else (whole, "", "")
    if len(head) > LONGEST_TITLE:
        return {"head": "", "rest": whole}
    return {"head": head, "rest": rest.strip()}


def web_url(url: str) -> str:
    """The address if it is one of the web, else "": a page may claim anything as its source."""
    return url if url.lower().startswith(("https://", "http://")) else ""


LABEL_WORDS = {1: "relevant", 0: "not relevant", None: "cannot be judged"}


def judged_context(
    item: EscalationCase | AttentionCheck,
    *,
    plan: VotingPlan,
    arm: str,
    seed: int,
    committed: bool,
) -> dict[str, Any]:
    """The pair as this person may see it now.

    `stage`: the next answer is the `first` judgment, the `final` one after it, or the `only` one.
    What is judged from the passage alone begins the same under a plan that shows some positions
    later, whether they come or there are none: an audited pair has none.
    """
    stage = "only"
    if begins_alone(plan, arm):
        stage = "final" if committed else "first"
    shown = arm == Condition.START or (arm == Condition.AFTER and committed)
    raw = as_shown(item.snapshot, seed=seed, shown=shown)
    # After a judgment from the passage alone one reads what is said for and against.
    turns = stage == "final" and bool(raw.get("positions"))
    return item_context(item, raw) | {"stage": stage, "raw": raw, "turns_to_positions": turns}


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
