"""Voting in batches: take one, answer its items, submit it.

An item is named by its place in the batch: nothing in its address, its page or its order shows
whether it is a check.
"""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.batches.services import answer_item, take_batch
from annotate.models import Batch, BatchItem, VotingPlan
from annotate.plans.services import order_seed_in_batch
from annotate.voting.forms import VoteForm
from annotate.voting.items import clash, judged_context, with_default
from annotate.voting.services import Answer
from annotate.voting.views import PART, TEMPLATE, ask_again, redirect_to
from annotate.worked import about_seconds_a_vote
from corpus.access import Access, enter, first_or_404
from corpus.models import Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.numbers import number


@require_POST
def batch_take(request: HttpRequest, slug: str) -> HttpResponse:
    """A new batch, or the one that the person works on."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    try:
        take_batch(access=access, plan=VotingPlan.objects.current(access.benchmark))
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return redirect_to("vote", slug)


@require_GET
def batch_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every item with its answer, and what became of the batch."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    batch = get_own_batch(access, pk)
    items = list(batch.items.order_by("place"))
    context = {
        "access": access,
        "plan": batch.plan,
        "batch": batch,
        "items": items,
        "left": sum(not item.is_answered for item in items),
        "minutes": batch.plan.minutes(batch.size),
        "pay": batch.plan.pay(batch.size),
    }
    return htmx.render(request, "annotate/batches/batch.html", context)


@require_POST
def batch_end(request: HttpRequest, slug: str, pk: int, verb: Any) -> HttpResponse:
    """Submit one's own batch, or return it."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    act = partial(verb, batch=get_own_batch(access, pk), access=access)
    return htmx.attempt(request, act, reverse("vote-batch", args=[slug, pk]))


@require_http_methods(["GET", "POST"])
def batch_item(request: HttpRequest, slug: str, pk: int, place: int) -> HttpResponse:
    """One item of one's own batch; its answer leads on to the next that has none."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    batch = get_own_batch(access, pk)
    if not batch.is_open:
        return redirect_to("vote-batch", slug, pk)
    item = get_item(batch, place)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, item), partial=PART)
    form = VoteForm(with_default(request))
    if not form.is_valid():
        return ask_again(request, _context(access, item), form)
    version = request.POST.get("version", "")
    try:
        stored = answer_item(
            item=item,
            access=access,
            answer=Answer(**form.cleaned_data),
            expected=number(version),
        )
    except Conflict as conflict:
        return _clash(request, access, conflict.current, form)
    except Refused as refusal:
        form.add_error("reason" if refusal.field == "reason" else "label", refusal.message)
        return ask_again(request, _context(access, item), form)
    if not stored.is_answered:
        return redirect_to("vote-item", slug, pk, place)
    return htmx.vary(HttpResponseRedirect(_next_url(batch, place, slug)))


def get_own_batch(access: Access, pk: int) -> Batch:
    """A batch of this person in this benchmark, or 404: those of others do not exist for them."""
    mine = Batch.objects.of(access.user.pk, access.benchmark).select_related("plan__benchmark")
    return first_or_404(mine.filter(pk=pk), "batch of yours")


def get_item(batch: Batch, place: int) -> BatchItem:
    """The item at this place, with its pair."""
    rows = batch.items.select_related(
        "case__query__domain",
        "case__passage__document",
        "check_item__query__domain",
        "check_item__passage__document",
    )
    found = first_or_404(rows.filter(place=place), "item")
    found.batch = batch
    return found


def shown_item(access: Access, item: BatchItem) -> dict[str, Any]:
    """The pair of an item as its voter may see it now."""
    content = item.case or item.check_item
    assert content is not None  # a constraint says so
    seed = order_seed_in_batch(access.user.pk, item.batch_id, item.place)
    return judged_context(
        content, plan=item.batch.plan, arm=item.arm, seed=seed, committed=item.is_committed
    )


def _context(access: Access, item: BatchItem) -> dict[str, Any]:
    slug, batch = access.benchmark.slug, item.batch
    before = item.place - 1
    left = batch.items.filter(answered_at=None).count()
    url = reverse("vote-item", args=[slug, batch.pk, item.place])
    return {
        "access": access,
        "plan": batch.plan,
        "batch": batch,
        "item": item,
        "done": batch.size - left,
        "seconds_left": max(60, left * about_seconds_a_vote(access.user, batch.plan))
        if left
        else 0,
        "mine": item if item.is_answered else None,
        "first_label": item.first_label,
        "has_item": True,
        "form": VoteForm(),
        "asked": "",
        "undo_url": "",
        "post_url": url,
        "later_url": _next_url(batch, item.place, slug),
        "before_url": reverse("vote-item", args=[slug, batch.pk, before]) if before else "",
        **shown_item(access, item),
    }


def _next_url(batch: Batch, place: int, slug: str) -> str:
    """The next item without an answer, behind this one or from the beginning; else the batch."""
    left = batch.items.filter(answered_at=None).order_by("place").values_list("place", flat=True)
    places = list(left)  # in one query for every place: the time it takes shows nothing
    found = next((each for each in places if each > place), places[0] if places else place)
    if found == place:
        return reverse("vote-batch", args=[slug, batch.pk])
    return reverse("vote-item", args=[slug, batch.pk, found])


def _clash(request: HttpRequest, access: Access, stored: BatchItem, form: VoteForm) -> HttpResponse:
    item = get_item(get_own_batch(access, stored.batch_id), stored.place)
    sent = form.cleaned_data
    if stored.is_answered and stored.label == sent["label"]:
        url = _next_url(item.batch, item.place, access.benchmark.slug)
        return htmx.vary(HttpResponseRedirect(url))
    if not stored.is_answered:  # the first judgment was given in another tab; it stays
        messages.warning(request, "You gave your first judgment in another tab; it stays.")
        return redirect_to("vote-item", access.benchmark.slug, item.batch_id, item.place)
    context = _context(access, item) | clash(stored.label, sent, stored.answered_at)
    return htmx.render(request, TEMPLATE, context, partial=PART, status=409)
