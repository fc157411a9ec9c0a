"""What a case shows of its pair: query, answers, marked passage, positions."""

from collections.abc import Mapping
from typing import Any

from annotate.models import AttentionCheck, EscalationCase
from annotate.services.marking import segments
from annotate.services.snapshot import read_snapshot

LONGEST_TITLE = 200  # characters; a longer first line is read as text


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
        **titled(snapshot.question),
        "segments": segments(text, snapshot.spans),
        "page_title": item.passage.title or (document.title if document else ""),
        "source_url": web_url(document.source_url if document else ""),
    }


def titled(question: str) -> dict[str, str]:
    """`head`, the first line where it is short enough for a title, and the `rest` of a query."""
    head, _, rest = question.strip().partition("\n")
    if len(head) > LONGEST_TITLE:
        return {"head": "", "rest": question.strip()}
    return {"head": head, "rest": rest.strip()}


def web_url(url: str) -> str:
    """The address if it is one of the web, else "": a page may claim anything as its source."""
    return url if url.lower().startswith(("https://", "http://")) else ""
