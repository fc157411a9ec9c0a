"""A senior's queue: the spot check of a panel's labels, and what its experts left undecided."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.forms import VoteForm
from annotate.models import CaseStatus, ReferenceItem, ReferencePanel
from annotate.services import spot_checks as verbs
from annotate.views.items import item_context
from annotate.views.judging import LABEL_WORDS, asked_again, with_default
from annotate.views.numbers import number
from annotate.views.panels import READERS, get_item, get_panel, panel_url
from corpus.access import Access, enter
from kit import htmx
from kit.errors import Refused

TEMPLATE = "annotate/spot_check.html"


@require_GET
def spot_checks(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The next item to look at; `?after=` is the one left for later."""
    access = enter(request.user, slug, *READERS)
    panel = get_panel(access, pk)
    waiting = list(verbs.waiting_checks(access, panel).values_list("pk", flat=True))
    left = number(request.GET.get("after", ""))
    if waiting:
        # Behind the one that is left, or from the beginning.
        place = waiting.index(left) + 1 if left in waiting else 0
        return htmx.redirect(request, panel_url(panel, "spot-check", waiting[place % len(waiting)]))
    context = {"access": access, "tab": "panels", "panel": panel, "is_over": True}
    return htmx.render(request, TEMPLATE, context)


@require_http_methods(["GET", "POST"])
def spot_check(request: HttpRequest, slug: str, pk: int, item: int) -> HttpResponse:
    """One item with its label: keep it, override it, or correct one's own or another's look."""
    access = enter(request.user, slug, *READERS)
    panel = get_panel(access, pk)
    found = get_item(panel, item)
    if not verbs.checkable(access, panel).filter(pk=found.pk).exists():
        raise PermissionDenied(_why_not(access, found))
    context = _context(access, panel, found)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, context)
    form = VoteForm(with_default(request))
    if not form.is_valid():
        return htmx.invalid(request, TEMPLATE, context | asked_again(form))
    sent = form.cleaned_data
    sent.pop("span")
    replaces = number(request.POST.get("replaces", ""))
    try:
        check = verbs.check_item(item=found, access=access, replaces=replaces, **sent)
    except verbs.AlreadyChecked as already:
        if already.check.label == sent["label"]:
            return htmx.redirect(request, panel_url(panel, "spot-checks"))
        context = _context(access, panel, found) | asked_again(form) | {"clash": True}
        return htmx.render(request, TEMPLATE, context, status=409)
    except Refused as refusal:
        form.add_error("reason" if refusal.field == "reason" else "label", refusal.message)
        return htmx.invalid(request, TEMPLATE, context | asked_again(form))
    messages.success(
        request, f"{check.get_kind_display().capitalize()}: {LABEL_WORDS[sent['label']]}."
    )
    return htmx.redirect(request, panel_url(panel, "spot-checks"))


def _why_not(access: Access, item: ReferenceItem) -> str:
    if item.case.status == CaseStatus.OPEN:
        return verbs.OPEN
    if not verbs.may_check(access, item.case.query.domain_id):
        return "This item belongs to a domain that is not yours."
    is_theirs = item.case.votes.filter(voter=access.user).exists()
    return verbs.OWN if is_theirs or item.in_spot_check else verbs.NOT_DRAWN


def _context(access: Access, panel: ReferencePanel, item: ReferenceItem) -> dict[str, Any]:
    look = item.checks.standing().select_related("checker").first()
    return {
        "access": access,
        "tab": "panels",
        "panel": panel,
        "item": item,
        "case": item.case,
        "look": look,
        "votes": item.case.votes.standing().order_by("pk"),
        "is_undecided": item.case.status == CaseStatus.EXPERT,
        "waiting": verbs.waiting_checks(access, panel).count(),
        "form": VoteForm(),
        "asked": "",
        "later_url": f"{panel_url(panel, 'spot-checks')}?after={item.pk}",
        **item_context(item.case),
    }
