"""Feedback to voters: their own page, and the same for admins, who can write messages."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.feedback.services import (
    history_sheet,
    kept_back,
    mark_seen,
    reasons_of_majority,
    send_message,
    shown_votes,
    to_reread,
)
from annotate.forms import TextField
from annotate.guidelines.rendering import rendered
from annotate.models import Vote, VoterMessage
from annotate.voting.items import LABEL_WORDS
from corpus.access import Access, enter, first_or_404
from corpus.models import Membership, Role
from kit import htmx
from kit.lists.tables import Column, Filter, Table

TEMPLATE = "annotate/feedback/feedback.html"
MAX_MESSAGES = 50


def _of_result(rows: QuerySet[Vote], value: str) -> QuerySet[Vote]:
    if value == "none":
        return rows.filter(label=None)
    same = Q(label=F("case__label"))
    return rows.exclude(label=None).filter(same if value == "same" else ~same)


VOTES = Table(
    search=("case__query__text", "case__passage__pid"),
    filters=(
        Filter(
            "result",
            "Your vote",
            choices=(
                ("other", "otherwise than the label"),
                ("same", "as the label"),
                ("none", "cannot be judged"),
            ),
            apply=_of_result,
        ),
    ),
    columns=(
        Column("query", "Query", order=("case__query_id",)),
        Column("passage", "Passage", order=("case__passage__pid",)),
        Column("mine", "Your vote", order=("label",)),
        Column("final", "Final label", order=("case__label",)),
        Column("at", "Voted", order=("created_at",)),
    ),
    order=("-pk",),
)


@require_GET
def feedback(request: HttpRequest, slug: str) -> HttpResponse:
    """My votes that count, with the labels of their cases."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    context = _context(request, access, access.user)
    return htmx.render(request, TEMPLATE, context, partial="results")


@require_http_methods(["GET", "POST"])
def feedback_of(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The same of one annotator, as they see it, for admins; a POST writes to them."""
    access = enter(request.user, slug, Role.ADMIN)
    person = get_voter(access, pk)
    form = MessageForm(request.POST if request.method == "POST" else None)
    if htmx.submit(form, send_message, access=access, person=person):
        messages.success(request, f"{person} will see it under Feedback.")
        return htmx.redirect(request, reverse("feedback-of", args=[slug, pk]))
    context = _context(request, access, person) | {"form": form}
    return htmx.render(request, TEMPLATE, context, partial="results", form=form)


@require_GET
def feedback_vote(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One of my votes with the passage and the reasons of the majority."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    vote = get_shown_vote(access, pk)
    context = {
        "access": access,
        "vote": vote,
        "mine": LABEL_WORDS[vote.label],
        "final": LABEL_WORDS[vote.final],  # type: ignore[attr-defined]
        "expert": _expert(vote),
        "reasons": reasons_of_majority(vote),
        "passage": vote.case.passage,
    }
    return htmx.render(request, "annotate/feedback/vote.html", context)


@require_POST
def feedback_seen(request: HttpRequest, slug: str) -> HttpResponse:
    """Mark my messages as read."""
    mark_seen(access=enter(request.user, slug, Role.ANNOTATOR))
    return htmx.redirect(request, reverse("feedback", args=[slug]))


def _context(request: HttpRequest, access: Access, person: User) -> dict[str, Any]:
    """Context of the page; everything in it is as the voter may see it."""
    benchmark = access.benchmark
    rows = VoterMessage.objects.to(person.pk, benchmark).select_related("batch", "case__query")
    found = list(rows[:MAX_MESSAGES])
    return {
        "access": access,
        "person": person,
        "is_own": person == access.user,
        "messages_to": found,
        "unseen": sum(each.seen_at is None for each in found),
        "sheet": history_sheet(person.pk, benchmark),
        "sections": [
            (each["title"], each["why"], rendered(each["text"]))
            for each in to_reread(person.pk, benchmark)
        ],
        "has_kept_back": bool(kept_back(person.pk, benchmark)),
        "table": VOTES.read(shown_votes(person.pk, benchmark), request.GET),
    }


def get_voter(access: Access, pk: int) -> User:
    """An annotator of this benchmark, or 404."""
    members = Membership.objects.filter(benchmark=access.benchmark).select_related("user")
    found = first_or_404(members.filter(user__pk=pk), "annotator")
    if Role.ANNOTATOR not in found.roles:
        raise Http404("No such annotator.")
    return found.user


def get_shown_vote(access: Access, pk: int) -> Vote:
    """One of the person's own votes that are listed, or 404."""
    rows = shown_votes(access.user.pk, access.benchmark).select_related("case__passage__document")
    return first_or_404(rows.filter(pk=pk), "vote of yours, or its case is not decided")


def _expert(vote: Vote) -> str:
    """What an expert says otherwise than the votes, or ""."""
    given, final = vote.expert, vote.final  # type: ignore[attr-defined]
    if given is None or int(given > 0) == final:
        return ""
    return LABEL_WORDS[int(given > 0)]


class MessageForm(forms.Form):
    """A message to a voter; `batch` or `case` say what it is about."""

    text = TextField(
        label="Message",
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4, "data-draft": "text"}),
        error_messages={"required": "Write the message first."},
    )
    batch = forms.IntegerField(
        label="About batch",
        required=False,
        min_value=1,
        help_text="Its number, if it is about one.",
    )
    case = forms.UUIDField(
        label="About case",
        required=False,
        help_text="Its id, as its address has it, if it is about one that is decided.",
    )
