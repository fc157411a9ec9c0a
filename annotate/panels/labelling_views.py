"""The items of a panel by keys, one after the other: for its experts, and for a senior after them.

What experts see may depend neither on other people's labels nor on whether a senior will look at
the item. A senior's queue is the spot check of the labels, and what the experts left undecided.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.models import CaseStatus, ReferenceItem, ReferencePanel, SpotCheck, Vote, VoteSlot
from annotate.panels import labels as verbs
from annotate.panels import settling as checking
from annotate.panels.labels import practice_left, start_practice
from annotate.panels.views import READERS, get_item, get_panel, panel_url
from annotate.plans.services import as_shown, order_seed
from annotate.voting.eligibility import unqualified_domains
from annotate.voting.forms import VoteForm
from annotate.voting.items import LABEL_WORDS, asked_again, item_context, with_default
from annotate.voting.services import AlreadyVoted
from annotate.worked import progress
from corpus.access import Access, enter
from corpus.models import Domain, Role
from kit import htmx
from kit.errors import Refused
from kit.numbers import number

TEMPLATE = "annotate/panels/item.html"
SPOT_CHECKS_TEMPLATE = "annotate/panels/spot_check.html"


@require_GET
def panel_label(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The next item; where none waits, why. `?after=` is the one left for later."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    panel = get_panel(access, pk)
    left = number(request.GET.get("after", ""))
    after = panel.items.select_related("case").filter(pk=left).first() if left else None
    item = verbs.next_item(access=access, panel=panel, after=after) if panel.is_open else None
    owed = practice_left(access, panel) if panel.is_open else []
    # `?practice` shows the gate of the other domains to whoever has items of one already.
    if item is not None and "practice" not in request.GET:
        return htmx.redirect(request, panel_url(panel, "panel-item", item.pk))
    last = verbs.own_items(access, panel).first()
    context = {
        "access": access,
        "panel": panel,
        "owed": [(domain, left) for domain, left in owed if left],
        "has_items": item is not None,
        "unqualified": unqualified_domains(access),
        "given": verbs.own_items(access, panel).count(),
        **_last(panel, last),
    }
    return htmx.render(request, "annotate/panels/start.html", context)


@require_POST
def panel_practice(request: HttpRequest, slug: str, pk: int, domain: int) -> HttpResponse:
    """Begin the practice of one domain, or go on with it."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    panel = get_panel(access, pk)
    found = get_object_or_404(Domain, pk=domain, benchmark=access.benchmark)
    return htmx.attempt(
        request,
        partial(start_practice, access=access, panel=panel, domain=found),
        lambda attempt: reverse("exam", args=[slug, attempt.pk]),
        otherwise=panel_url(panel, "panel-label"),
    )


@require_http_methods(["GET", "POST"])
def panel_item(request: HttpRequest, slug: str, pk: int, item: int) -> HttpResponse:
    """One item to label; the label leads on to the next. One's own label can be corrected."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    panel = get_panel(access, pk)
    found, here = get_item(panel, item), panel_url(panel, "panel-label")
    slot = verbs.lease_item(access=access, item=found) if panel.is_open else None
    if slot is None and not VoteSlot.objects.filter(case=found.case, voter=access.user).exists():
        messages.info(request, "This item is not yours to label, or others label it already.")
        return htmx.redirect(request, here)
    own = verbs.own_items(access, panel)
    last = own.exclude(pk=found.pk).first()

    def context() -> dict[str, Any]:
        return {
            "mine": found.case.votes.standing().filter(voter=access.user).first(),
            "can_correct": panel.is_open and not found.checks.exists(),
            "progress": progress(
                own.count(),
                verbs.waiting_labels(access, panel).count(),
                Vote.objects.filter(voter=access.user, batch=None),
            ),
            "later_url": f"{here}?after={found.pk}",
            "next_url": here,
            **_last(panel, last),
            **_shown(access, found, shown_item(access, found)),
        }

    def act(**sent: Any) -> str:
        correct = "correct" in request.POST
        verbs.label_item(item=found, access=access, correct=correct, **sent)
        return f"Your label is {LABEL_WORDS[sent['label']]} now." if correct else ""

    return _ask(request, TEMPLATE, context, act, here)


def _ask(
    request: HttpRequest,
    template: str,
    context: Callable[[], dict[str, Any]],
    act: Callable[..., str],
    next_url: str,
) -> HttpResponse:
    """The page of one item. A label that is sent is given by `act`, which returns the message.

    Where another one stands already, both are shown (409), never overwritten.
    """
    if request.method == "GET":
        return htmx.render(request, template, context())
    form = VoteForm(with_default(request))
    if form.is_valid():
        sent = form.cleaned_data
        sent.pop("span")
        try:
            if message := act(**sent):
                messages.success(request, message)
            return htmx.redirect(request, next_url)
        except (AlreadyVoted, checking.AlreadyChecked) as already:
            given = already.vote if isinstance(already, AlreadyVoted) else already.check
            if given.label == sent["label"]:
                return htmx.redirect(request, next_url)
            clash = {"clash": LABEL_WORDS[given.label]}
            full = context() | asked_again(form) | clash
            return htmx.render(request, template, full, status=409)
        except Refused as refusal:
            field = refusal.field if refusal.field in form.fields else "label"
            form.add_error(field, refusal.message)
    return htmx.invalid(request, template, context() | asked_again(form))


def shown_item(access: Access, item: ReferenceItem) -> dict[str, Any]:
    """The item as this expert reads it: both reasons in an order of their own."""
    seed = order_seed(access.user.pk, item.case_id)
    return as_shown(item.case.snapshot, seed=seed, shown=True)


def _last(panel: ReferencePanel, item: ReferenceItem | None) -> dict[str, str]:
    """The way back to the item labelled before, and what was said of it; nothing without one."""
    if item is None:
        return {}
    said = LABEL_WORDS[item.own_label]  # type: ignore[attr-defined]
    here = panel_url(panel, "panel-item", item.pk)
    return {"last_url": here, "last_pid": item.case.passage.pid, "last_label": said}


def _shown(
    access: Access, item: ReferenceItem, snapshot: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Context of either page about an item; all of its snapshot where no part of it is given."""
    page = {"access": access, "panel": item.panel, "item": item}
    return page | {"form": VoteForm(), "asked": "", **item_context(item.case, snapshot)}


@require_GET
def spot_checks(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The next item to check; `?after=` is the one left for later."""
    access = enter(request.user, slug, *READERS)
    panel = get_panel(access, pk)
    waiting = list(checking.waiting_checks(access, panel).values_list("pk", flat=True))
    left = number(request.GET.get("after", ""))
    if waiting:
        # Behind the one that is left, or from the beginning.
        place = waiting.index(left) + 1 if left in waiting else 0
        return htmx.redirect(request, panel_url(panel, "spot-check", waiting[place % len(waiting)]))
    context = {"access": access, "panel": panel, "is_over": True}
    return htmx.render(request, SPOT_CHECKS_TEMPLATE, context)


@require_http_methods(["GET", "POST"])
def spot_check(request: HttpRequest, slug: str, pk: int, item: int) -> HttpResponse:
    """One item with its label: keep it, override it, or correct one's own or another's check."""
    access = enter(request.user, slug, *READERS)
    panel = get_panel(access, pk)
    found = get_item(panel, item)
    if not checking.checkable(access, panel).filter(pk=found.pk).exists():
        raise PermissionDenied(_why_not(access, found))
    here = panel_url(panel, "spot-checks")

    def context() -> dict[str, Any]:
        return {
            "case": found.case,
            "check": found.checks.standing().select_related("checker").first(),
            "votes": found.case.votes.standing().order_by("pk"),
            "is_undecided": found.case.status == CaseStatus.EXPERT,
            "progress": progress(
                SpotCheck.objects.standing().filter(item__panel=panel, checker=access.user).count(),
                checking.waiting_checks(access, panel).count(),
                SpotCheck.objects.filter(checker=access.user),
            ),
            "later_url": f"{here}?after={found.pk}",
            **_shown(access, found),
        }

    def act(**sent: Any) -> str:
        replaces = number(request.POST.get("replaces", ""))
        check = checking.check_item(item=found, access=access, replaces=replaces, **sent)
        return f"{check.get_kind_display().capitalize()}: {LABEL_WORDS[check.label]}."

    return _ask(request, SPOT_CHECKS_TEMPLATE, context, act, here)


def _why_not(access: Access, item: ReferenceItem) -> str:
    if item.case.status == CaseStatus.OPEN:
        return checking.OPEN
    if not checking.may_check(access, item.case.query.domain_id):
        return "This item belongs to a domain that is not yours."
    is_theirs = item.case.votes.filter(voter=access.user).exists()
    return checking.OWN if is_theirs or item.in_spot_check else checking.NOT_DRAWN
