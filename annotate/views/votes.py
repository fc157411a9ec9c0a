"""Voting on disputes: one case after the other, by keys.

Nothing here may depend on other people's votes: what a page shows is the snapshot, the person's
own vote and how many cases wait for them.
"""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.forms import VoteForm
from annotate.models import CaseStatus, EscalationCase, Vote
from annotate.services.votes import cast_vote, withdraw_vote
from annotate.views.items import item_context
from annotate.views.loaders import get_own_case
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused

TEMPLATE, PART = "annotate/vote.html", "answer"


@require_GET
def vote(request: HttpRequest, slug: str) -> HttpResponse:
    """The next case that waits for this person; `?after=` the one left for later."""
    access = enter(request.user, slug)
    after = _number(request.GET.get("after", ""))
    found = _next(access, after)
    if found is None:
        return htmx.render(request, TEMPLATE, _around(access), partial=PART)
    if found == after:
        messages.info(request, "No other case is waiting for you.")
    return _go(access, found)


@require_http_methods(["GET", "POST"])
def vote_case(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One case to judge; the vote leads on to the next one."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    case = get_own_case(access, pk)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, case), partial=PART)
    form = VoteForm(_with_default(request))
    if not form.is_valid():
        context = _context(access, case) | {"form": form, "asked": True}
        return htmx.invalid(request, TEMPLATE, context, partial=PART)
    try:
        cast_vote(case=case, voter=access.user, **form.cleaned_data)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return _go(access, _next(access, case.pk))


@require_POST
def vote_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Take back the person's last vote, or the one on the case that is named."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    votes = _own_votes(access)
    named, at = _number(request.POST.get("case", "")), _number(request.POST.get("at", ""))
    found = (votes.filter(case_id=named) if named else votes).order_by("-pk").first()
    if found is None:
        messages.info(request, "There is no vote of yours to take back.")
        return _go(access, at or None)
    try:
        withdraw_vote(vote=found, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return _go(access, at or None)
    messages.success(request, "Your vote was taken back. Judge this case again.")
    return _go(access, found.case_id)


def _next(access: Access, after: int) -> int | None:
    if not access.is_annotator:
        return None
    # By query, so that what was opened at one time, for one reason, does not come in one stretch.
    waiting = EscalationCase.objects.awaiting(access.user, access.domain_ids)
    pks = waiting.order_by("query_id", "pk").values_list("pk", flat=True)
    query = EscalationCase.objects.filter(pk=after).values_list("query_id", flat=True).first()
    if query is None:
        return pks.first()
    following = pks.filter(Q(query_id__gt=query) | Q(query_id=query, pk__gt=after))
    return following.first() or pks.first()


def _go(access: Access, case: int | None) -> HttpResponse:
    # A plain redirect for both kinds of request: htmx follows it and shows the next case's
    # fragment under the next case's address, without a page load.
    slug = access.benchmark.slug
    url = reverse("vote-case", args=[slug, case]) if case else reverse("vote", args=[slug])
    return htmx.vary(HttpResponseRedirect(url))


def _context(access: Access, case: EscalationCase) -> dict[str, Any]:
    mine = _own_votes(access).filter(case=case).first()
    # Asked only without a vote of one's own: after it, an open and a decided case look the same.
    is_over = mine is None and case.status != CaseStatus.OPEN
    context = _around(access) | {"case": case, "mine": mine, "is_over": is_over}
    return context if is_over else context | item_context(case) | {"form": VoteForm()}


def _around(access: Access) -> dict[str, Any]:
    waiting = 0
    if access.is_annotator:
        waiting = EscalationCase.objects.awaiting(access.user, access.domain_ids).count()
    has_voted = _own_votes(access).exists()
    return {"access": access, "tab": "vote", "waiting": waiting, "has_voted": has_voted}


def _own_votes(access: Access) -> Any:
    cases = Vote.objects.standing().filter(voter=access.user)
    return cases.filter(case__query__domain__benchmark=access.benchmark)


def _with_default(request: HttpRequest) -> dict[str, str]:
    """Sent from the reason field by Ctrl+Enter, no button says the label; its form does."""
    posted = {name: str(value) for name, value in request.POST.items()}
    return {"label": posted.get("asked", "")} | posted


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
