"""The history of a query's aspects, and undoing a change."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import AspectChange
from annotate.services.changes import said_of
from annotate.services.undoing import undo_change
from annotate.views.loaders import enter_query, may_write
from annotate.views.queries import workspace_url
from corpus.access import enter, get_query
from corpus.marcus.alignment import blocks
from corpus.marcus.tokens import Token
from corpus.models import Query
from kit import htmx
from kit.errors import Refused

_SHOWN = 200


@dataclass(frozen=True)
class Words:
    """A run of words in a text and whether it is old, new or both ("")."""

    text: str
    css: str = ""


@require_GET
def aspect_history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What was done to the query's aspects, newest first, each with its undo."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    rows = AspectChange.objects.filter(query=query).select_related("created_by", "undone_by")
    context = {
        "access": access,
        "tab": "queries",
        "query": query,
        "changes": [_shown_change(each) for each in rows[:_SHOWN]],
        "may_write": may_write(access, query),
    }
    return htmx.render(request, "annotate/aspect_history.html", context)


@require_POST
def change_undo(request: HttpRequest, slug: str, pk: int, change_pk: int) -> HttpResponse:
    """Take one change back."""
    access, query = enter_query(request.user, slug, pk)
    change = get_change(query, change_pk)
    try:
        undo_change(change=change, actor=access.user)
        messages.success(request, f"Undone: {said_of(change)}")
    except Refused as refused:
        messages.warning(request, refused.message)
    to_history = request.POST.get("back") == "history"
    history = reverse("aspect-history", args=[slug, query.pk])
    return htmx.redirect(request, history if to_history else workspace_url(access, query))


def get_change(query: Query, pk: int) -> AspectChange:
    """A change of this query, or 404."""
    change = AspectChange.objects.filter(query=query, pk=pk).first()
    if change is None:
        raise Http404("No such change.")
    return change


def _shown_change(change: AspectChange) -> dict[str, Any]:
    pairs = (
        [(old, new, difference(old["content"], new["content"]))
         for old, new in zip(change.before, change.after, strict=True)]
        if change.kind in ("clarify", "scale")
        else []
    )  # fmt: skip
    return {"change": change, "said": said_of(change), "pairs": pairs}


def difference(old: str, new: str) -> list[Words]:
    """Both texts in one, word by word: what is gone and what is new marked."""
    before, after = old.split(), new.split()
    found = []
    words = ([Token(word, 0, 0) for word in each] for each in (before, after))
    for block in blocks(*words):
        old_words, new_words = before[block.a0 : block.a1], after[block.b0 : block.b1]
        if block.same:
            found.append(Words(" ".join(old_words)))
            continue
        found += [Words(" ".join(old_words), "del")] if old_words else []
        found += [Words(" ".join(new_words), "ins")] if new_words else []
    return found
