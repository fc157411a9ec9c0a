"""Adjudication: a third person settles what others left open, one item after the other."""

from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.adjudication.items import read_item
from annotate.adjudication.queue import OpenItem, as_rows, find_item, listed, open_items
from annotate.adjudication.services import GONE, settle, undo_decision
from annotate.forms import TextField
from annotate.models import Adjudication, OpenKind
from annotate.voting.disputes import domain_choices
from annotate.voting.items import LABEL_WORDS, item_context, titled
from annotate.worked import progress
from annotate.workspace.models import RUBRIC, SCALE_TOP
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.lists.tables import Filter, ListPage, page_of
from kit.numbers import number

READERS = (Role.ADMIN, Role.REVIEWER)
PAGE = 50
MAX_DECIDED = 50
TEMPLATE = "annotate/adjudication/adjudicate.html"


@require_GET
def adjudication(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits for a third person, with how much of each kind, and what was decided."""
    access = enter(request.user, slug, *READERS)
    rows, counts = listed(access, request.GET)
    context = {
        "access": access,
        "counts": counts,
        "table": _table(access, request, rows),
        "decided": decisions(access)[:MAX_DECIDED],
        "filter": _kept(request),
    }
    return htmx.render(
        request, "annotate/adjudication/adjudication.html", context, partial="results"
    )


@require_http_methods(["GET", "POST"])
def adjudicate(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One open item; the decision leads on to the next one of the same list."""
    access = enter(request.user, slug, *READERS)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(request, access, get_item(access, name)))
    item = find_item(access, name)
    if item is None:
        messages.warning(request, GONE)
        return _next(request, access, name)
    if item.kind == OpenKind.REVIEWS:
        try:
            review = settle(item, access=access)
        except Refused as refusal:
            messages.warning(request, refusal.message)
            return _next(request, access, name)
        return htmx.redirect(request, reverse("review", args=[slug, review.pk]))
    form = SettleForm(request.POST)
    if form.is_valid():
        try:
            made: Any = settle(item, access=access, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.message)
        except Conflict:
            form.add_error(None, "Somebody saved this aspect at the same moment. Look again.")
        else:
            what = f"weight {made.weight}" if made.aspect_id else LABEL_WORDS[made.label]
            messages.success(request, f"Settled: {what}. U takes it back.")
            return _next(request, access, name)
    return htmx.invalid(request, TEMPLATE, _context(request, access, item) | {"form": form})


@require_GET
def adjudication_next(request: HttpRequest, slug: str) -> HttpResponse:
    """The item after `?after=`, or the first one."""
    access = enter(request.user, slug, *READERS)
    return _next(request, access, request.GET.get("after", ""))


@require_POST
def adjudication_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Undo the decision that is named, or the person's last one."""
    access = enter(request.user, slug, *READERS)
    if pk := request.POST.get("decision", ""):
        found = get_object_or_404(decisions(access), pk=number(pk) or 0)
    else:
        found = decisions(access).filter(adjudicator=access.user).standing().first()
    if found is None:
        messages.info(request, "There is no decision of yours to take back.")
        return htmx.redirect(request, reverse("adjudication", args=[slug]))
    act = partial(undo_decision, decision=found, access=access)
    said = "The decision was taken back; what counted before counts again."
    return htmx.attempt(request, act, reverse("adjudication", args=[slug]), said)


def decisions(access: Access) -> Any:
    """Decisions that this person may read: an admin's all, others' of their domains.

    Weights are for admins alone: a reviewer may still have to score the query blind.
    """
    rows = Adjudication.objects.in_benchmark(access.benchmark).select_related(
        "query__domain__benchmark", "passage", "aspect", "adjudicator", "judgment"
    )
    if access.is_admin:
        return rows
    return rows.filter(query__domain__in=access.domain_ids, aspect=None)


def get_item(access: Access, name: str) -> OpenItem:
    """The item that a link names, or 404."""
    found = find_item(access, name)
    if found is None:
        raise Http404("This was settled, or somebody else has to settle it.")
    return found


def _context(request: HttpRequest, access: Access, item: OpenItem) -> dict[str, Any]:
    shown = read_item(item)
    slug, kept = access.benchmark.slug, _kept(request)
    own = Adjudication.objects.in_benchmark(access.benchmark).filter(adjudicator=access.user)
    context: dict[str, Any] = {
        "access": access,
        "progress": progress(own.standing().count(), len(open_items(access)), own),
        "shown": shown,
        "kind": OpenKind(item.kind),
        "form": SettleForm(),
        "filter": kept,
        "last_decision": decisions(access).filter(adjudicator=access.user).standing().first(),
        "here": f"{reverse('adjudicate', args=[slug, item.name])}{kept}",
        "later_url": f"{reverse('adjudication-next', args=[slug])}?after={item.name}"
        f"{'&' + kept[1:] if kept else ''}",
        **titled(shown["query"].text, shown["query"]),
    }
    if "aspect" in shown:
        rubric = RUBRIC[shown["aspect"].scale]
        context |= {"points": sorted(rubric), "rubric": sorted(rubric.items(), reverse=True)}
    if "case" in shown:
        context |= item_context(shown["case"])
    elif "passage" in shown:
        context |= {"passage": shown["passage"]}
    return context


def _next(request: HttpRequest, access: Access, after: str) -> HttpResponse:
    """Lead to the item behind the one named, from the beginning where it was the last."""
    slug, params = access.benchmark.slug, request.GET
    rows = open_items(access, kind=params.get("kind", ""), domain=params.get("domain", ""))
    names = [item.name for item in rows]
    place = names.index(after) + 1 if after in names else 0
    if not names:
        messages.info(request, "Nothing else waits for a third person.")
        return htmx.redirect(request, reverse("adjudication", args=[slug]))
    if names == [after]:
        messages.info(request, "No other item is waiting.")
    found = names[place % len(names)]
    return htmx.redirect(request, f"{reverse('adjudicate', args=[slug, found])}{_kept(request)}")


def _kept(request: HttpRequest) -> str:
    """The filters of the list, to be carried along."""
    kept = {name: request.GET[name] for name in ("kind", "domain") if request.GET.get(name)}
    return f"?{urlencode(kept)}" if kept else ""


def _table(access: Access, request: HttpRequest, rows: list[OpenItem]) -> ListPage[Any]:
    kind, domain = request.GET.get("kind", ""), request.GET.get("domain", "")
    filters = [
        Filter("kind", "Left open", OpenKind.choices, value=kind),
        Filter("domain", "Domain", domain_choices(access.benchmark), value=domain),
    ]
    page: ListPage[Any] = page_of(rows, request.GET.dict(), filters=filters, size=PAGE)
    return replace(page, rows=as_rows(page.rows))


class SettleForm(forms.Form):
    """A decision with its reason: a label of a pair, or the weight of an aspect."""

    label = forms.TypedChoiceField(
        choices=[("1", "relevant"), ("0", "not relevant")],
        coerce=int,
        empty_value=None,
        required=False,
    )
    weight = forms.IntegerField(min_value=1, max_value=max(SCALE_TOP.values()), required=False)
    reason = TextField(max_length=4000, error_messages={"required": "Say why you decide so."})
