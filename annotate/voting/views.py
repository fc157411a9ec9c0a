"""Voting on cases, one after the other, by keys.

Nothing here may depend on other people's votes: a page shows the snapshot, the person's own vote
and how many cases wait for them.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.batches.services import open_batch
from annotate.loaders import as_public_id, get_own_case
from annotate.models import (
    CaseStatus,
    EscalationCase,
    Vote,
    VoteSlot,
    VotingPlan,
)
from annotate.plans.services import begins_alone, ends_there, needs_consent, order_seed
from annotate.voting.eligibility import unqualified_domains, waiting_for
from annotate.voting.forms import VoteForm
from annotate.voting.items import LABEL_WORDS, asked_again, clash, judged_context, with_default
from annotate.voting.services import (
    AlreadyVoted,
    cast_vote,
    commit_judgment,
    finish_abandoned,
    withdraw_vote,
)
from annotate.voting.slots import next_slot, reserve
from annotate.worked import about_seconds_a_vote
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused
from kit.numbers import number

TEMPLATE, PART = "annotate/voting/vote.html", "answer"
MAX_COUNTED = 100


@require_GET
def vote(request: HttpRequest, slug: str) -> HttpResponse:
    """The next case that waits for this person; `?after=` the one left for later."""
    access = enter(request.user, slug)
    plan = VotingPlan.objects.current(access.benchmark)
    if not access.is_annotator:
        return htmx.render(request, TEMPLATE, page_context(access, plan), partial=PART)
    if needs_consent(plan, access):
        return redirect_to("vote-consent", slug)
    if plan.has_batches:
        return _batch_home(request, access, plan)
    after = as_public_id(request.GET.get("after", ""))
    cases = EscalationCase.objects.in_benchmark(access.benchmark).of_voters()
    own = cases.filter(query__domain__in=access.domain_ids)
    left = own.select_related("query__domain").filter(public_id=after).first() if after else None
    slot = next_slot(access=access, plan=plan, after=left)
    if slot is None and finish_abandoned(plan):
        slot = next_slot(access=access, plan=plan)
    if slot is None:
        return htmx.render(request, TEMPLATE, page_context(access, plan), partial=PART)
    if slot.case.public_id == after:
        messages.info(request, "No other case is waiting for you.")
    return _go(access, slot.case.public_id)


@require_http_methods(["GET", "POST"])
def vote_case(request: HttpRequest, slug: str, case: UUID) -> HttpResponse:
    """One case to judge; the vote leads on to the next one."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    found = get_own_case(access, case)
    plan = VotingPlan.objects.current(access.benchmark)
    if plan.has_batches or needs_consent(plan, access):
        return redirect_to("vote", slug)
    slot = reserve(access=access, plan=plan, case=found)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, plan, found, slot), partial=PART)
    form = VoteForm(with_default(request))
    if not form.is_valid():
        return ask_again(request, _context(access, plan, found, slot), form)
    return _judge(request, access, plan, found, slot, form)


@require_POST
def vote_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Undo the person's last vote, or the one on the case that is named."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    votes = _own_votes(access)
    named, at = (as_public_id(request.POST.get(name, "")) for name in ("case", "at"))
    found = (votes.filter(case__public_id=named) if named else votes).order_by("-pk").first()
    if found is None:
        messages.info(request, "There is no vote of yours to take back.")
        return _go(access, at)
    try:
        withdraw_vote(vote=found, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return _go(access, at)
    pid = found.case.passage.pid
    messages.success(request, f"Your vote on {pid} was undone. Judge this case again.")
    return _go(access, found.case.public_id)


def page_context(access: Access, plan: VotingPlan) -> dict[str, Any]:
    """Context of every vote page, without its item."""
    waiting = waiting_for(access, plan)[:MAX_COUNTED].count() if access.is_annotator else 0
    # The last vote with the number of all, in one statement that reads the texts of one alone.
    own = _own_votes(access)
    number_of = own.select_related(None).order_by().values("voter").annotate(n=Count("pk"))
    last = own.annotate(given=Subquery(number_of.values("n"))).first()
    return {
        "access": access,
        "plan": plan,
        "waiting": waiting,
        "given": last.given if last else 0,
        "is_most": waiting == MAX_COUNTED,
        "seconds_left": max(60, waiting * about_seconds_a_vote(access.user, plan))
        if waiting
        else 0,
        "unqualified": unqualified_domains(access, plan) if access.is_annotator else [],
        "undoable": last,
        "undo_url": reverse("vote-undo", args=[access.benchmark.slug]),
        "form": VoteForm(),
        "asked": "",
    }


def ask_again(request: HttpRequest, context: dict[str, Any], form: VoteForm) -> HttpResponse:
    """The vote page with the errors of its form."""
    return htmx.invalid(request, TEMPLATE, context | asked_again(form), partial=PART)


def redirect_to(name: str, *args: object) -> HttpResponse:
    """A plain redirect for both kinds of request: htmx follows it and shows the next item's
    fragment under the next item's address, without a page load."""
    return htmx.vary(HttpResponseRedirect(reverse(name, args=args)))


def _judge(
    request: HttpRequest,
    access: Access,
    plan: VotingPlan,
    case: EscalationCase,
    slot: VoteSlot | None,
    form: VoteForm,
) -> HttpResponse:
    sent = form.cleaned_data
    replaces = number(request.POST.get("replaces", "")) or None
    try:
        if (
            slot is not None
            and slot.vote_id is None
            and not ends_there(plan, slot.arm, sent["label"])
        ):
            if begins_alone(plan, slot.arm) and not slot.is_committed:
                given = {"label": sent["label"], "elapsed_ms": sent["elapsed_ms"]}
                commit_judgment(slot=slot, plan=plan, voter=access.user, **given)
                return _go(access, case.public_id)
            if slot.is_committed and request.POST.get("stage") == "first":
                first = LABEL_WORDS[slot.first_label]
                messages.warning(
                    request,
                    f"You gave your first judgment, {first}, in another tab; it stays. "
                    "You can change it here, with a reason.",
                )
                return _go(access, case.public_id)
        cast_vote(case=case, voter=access.user, access=access, plan=plan, replaces=replaces, **sent)
    except AlreadyVoted as already:
        if already.vote.label != sent["label"] and case.status == CaseStatus.OPEN:
            stored = already.vote
            context = _context(access, plan, case, slot)
            context |= clash(stored.label, sent, stored.created_at) | {"replaces": stored.pk}
            return htmx.render(request, TEMPLATE, context, partial=PART, status=409)
        messages.info(request, already.message)
    except Refused as refusal:
        if refusal.field in form.fields or refusal.field == "span":
            form.add_error("label" if refusal.field == "span" else refusal.field, refusal.message)
            return ask_again(request, _context(access, plan, case, slot), form)
        messages.warning(request, refusal.message)
    found = next_slot(access=access, plan=plan)
    return _go(access, found.case.public_id if found else None)


def _batch_home(request: HttpRequest, access: Access, plan: VotingPlan) -> HttpResponse:
    batch = open_batch(access)
    if batch is None:
        context = page_context(access, plan) | {
            "minutes": plan.minutes(plan.batch_size),
            "pay": plan.pay(plan.batch_size),
        }
        return htmx.render(request, TEMPLATE, context, partial=PART)
    place = batch.items.filter(answered_at=None).values_list("place", flat=True).first()
    slug = access.benchmark.slug
    if place is None:
        return redirect_to("vote-batch", slug, batch.pk)
    return redirect_to("vote-item", slug, batch.pk, place)


def _go(access: Access, case: UUID | None) -> HttpResponse:
    slug = access.benchmark.slug
    return redirect_to("vote-case", slug, case) if case else redirect_to("vote", slug)


def _context(
    access: Access, plan: VotingPlan, case: EscalationCase, slot: VoteSlot | None
) -> dict[str, Any]:
    mine = slot.vote if slot else None
    # Asked only without a vote of one's own: after it, an open and a decided case look the same.
    is_over = mine is None and (case.status != CaseStatus.OPEN or slot is None)
    slug = access.benchmark.slug
    context = page_context(access, plan) | {
        "case": case,
        "mine": mine,
        "mine_is_final": mine is not None,
        "is_over": is_over,
        "post_url": reverse("vote-case", args=[slug, case.public_id]),
        "later_url": f"{reverse('vote', args=[slug])}?after={case.public_id}",
    }
    if mine is not None:
        context["undoable"] = mine
    if is_over or slot is None:
        return context
    committed = slot.is_committed or mine is not None
    seed = order_seed(access.user.pk, case.pk)
    shown = judged_context(case, plan=plan, arm=slot.arm, seed=seed, committed=committed)
    return context | shown | {"first_label": slot.first_label, "has_item": True}


def _own_votes(access: Access) -> QuerySet[Vote]:
    """The person's votes outside batches, the last one first, with what they are about."""
    votes = Vote.objects.of_voters(access.benchmark).filter(voter=access.user, batch=None)
    return votes.select_related("case__query__domain", "case__passage").order_by("-pk")
