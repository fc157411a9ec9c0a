"""Adjudication: a third person settles what others left open, one item after the other."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.adjudication import services as verbs
from annotate.adjudication.forms import SettleForm
from annotate.adjudication.items import ShownItem, read_item
from annotate.adjudication.queue import OpenItem, counted, find_item, named, open_items
from annotate.models import Adjudication, OpenKind
from annotate.review.services import step_in
from annotate.voting.disputes import domain_choices
from annotate.voting.items import item_context, titled
from annotate.workspace.models import RUBRIC, SCALE_TOP
from corpus.access import Access, enter
from corpus.models import Domain, Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.table_pages import BoundFilter, TablePage
from kit.tables import page_number

READERS = (Role.ADMIN, Role.REVIEWER)
PAGE = 50
MOST_DECIDED = 50
TEMPLATE = "annotate/adjudicate.html"


@require_GET
def adjudication(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits for a third person, with how much of each kind, and what was decided."""
    access = enter(request.user, slug, *READERS)
    everything = open_items(access, domain=_domain(access, request))
    kind = request.GET.get("kind", "")
    rows = [item for item in everything if kind not in OpenKind.values or item.kind == kind]
    context = {
        "access": access,
        "tab": "adjudication",
        "counts": counted(everything),
        "table": _table(access, request, rows),
        "decided": decisions(access)[:MOST_DECIDED],
        "filter": _kept(request),
    }
    return htmx.render(request, "annotate/adjudication.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def adjudicate(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One open item; the decision leads on to the next one of the same list."""
    access = enter(request.user, slug, *READERS)
    item = find_item(access, name)
    if item is None:
        if request.method == "GET":
            raise Http404("This was settled, or somebody else has to settle it.")
        messages.warning(request, verbs.GONE)
        return _next(request, access, name)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(request, access, item))
    if item.kind == OpenKind.REVIEWS:
        return _step_in(request, access, item)
    form = SettleForm(request.POST)
    if form.is_valid():
        try:
            made = settle(access, item, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.message)
        except Conflict:
            form.add_error(None, "Somebody saved this aspect at the same moment. Look again.")
        else:
            what = f"weight {made.weight}" if made.aspect_id else WORDS[made.label or 0]
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
    """Take back the decision that is named, or the person's last one."""
    access = enter(request.user, slug, *READERS)
    pk = request.POST.get("decision", "")
    if pk:
        found = get_decision(access, int(pk) if pk.isdecimal() and len(pk) < 19 else 0)
    else:
        mine = decisions(access).filter(adjudicator=access.user)
        found = mine.standing().first()  # type: ignore[assignment]
    if found is None:
        messages.info(request, "There is no decision of yours to take back.")
        return htmx.redirect(request, reverse("adjudication", args=[slug]))
    try:
        verbs.undo_decision(decision=found, access=access)
        messages.success(request, "The decision was taken back; what stood before stands again.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, reverse("adjudication", args=[slug]))


WORDS = {1: "relevant", 0: "not relevant"}


def settle(
    access: Access,
    item: OpenItem,
    *,
    label: int | None = None,
    weight: int | None = None,
    reason: str = "",
) -> Adjudication:
    """Call the verb that belongs to the item; Refused where what it needs was not given."""
    shown = read_item(item)
    given: dict[str, Any] = {"access": access, "reason": reason}
    if shown.aspect is not None:
        if weight is None:
            raise Refused("Choose a weight.", field="weight")
        return verbs.settle_weight(aspect=shown.aspect, weight=weight, **given)
    if label is None:
        raise Refused("Choose relevant or not relevant.", field="label")
    if shown.case is not None:
        return verbs.settle_case(case=shown.case, label=label, **given)
    if shown.passage is None:
        raise Refused("A review is settled on its own page. Step in first.")
    return verbs.settle_verdicts(query=shown.query, passage=shown.passage, label=label, **given)


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


def get_decision(access: Access, pk: int) -> Adjudication:
    """One of them, or 404; 403 for one that only others may take back."""
    found: Adjudication = get_object_or_404(decisions(access), pk=pk)
    if not access.is_admin and found.adjudicator_id != access.user.pk:
        raise PermissionDenied("Who decided, or an admin, takes a decision back.")
    return found


def _step_in(request: HttpRequest, access: Access, item: OpenItem) -> HttpResponse:
    review = read_item(item).review
    assert review is not None
    try:
        step_in(review=review, access=access)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return _next(request, access, item.name)
    return htmx.redirect(request, reverse("review", args=[access.benchmark.slug, review.pk]))


def _context(request: HttpRequest, access: Access, item: OpenItem) -> dict[str, Any]:
    shown: ShownItem = read_item(item)
    slug = access.benchmark.slug
    kept = _kept(request)
    context: dict[str, Any] = {
        "access": access,
        "tab": "adjudication",
        "shown": shown,
        "kind": OpenKind(item.kind),
        "form": SettleForm(),
        "filter": kept,
        "here": f"{reverse('adjudicate', args=[slug, item.name])}{kept}",
        "later_url": f"{reverse('adjudication-next', args=[slug])}?after={item.name}"
        f"{'&' + kept[1:] if kept else ''}",
        **titled(shown.query.text),
    }
    if shown.aspect is not None:
        top = SCALE_TOP[shown.aspect.scale]
        context["points"] = range(1, top + 1)
        context["rubric"] = sorted(RUBRIC[shown.aspect.scale].items(), reverse=True)
    if shown.case is not None:
        context |= item_context(shown.case)
    elif shown.passage is not None:
        context |= {"passage": shown.passage, "is_pair": True}
    return context


def _next(request: HttpRequest, access: Access, after: str) -> HttpResponse:
    """Lead to the item behind the one named, from the beginning where it was the last."""
    slug, kind = access.benchmark.slug, request.GET.get("kind", "")
    rows = open_items(access, kind=kind, domain=_domain(access, request))
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


def _domain(access: Access, request: HttpRequest) -> int | None:
    name = request.GET.get("domain", "")
    found = Domain.objects.ready().filter(benchmark=access.benchmark, name=name).first()
    return found.pk if found else None


def _table(access: Access, request: HttpRequest, rows: list[OpenItem]) -> TablePage[Any]:
    last = max(1, -(-len(rows) // PAGE))
    number = min(page_number(request.GET.get("page", "1")), last)
    params = {name: value for name, value in request.GET.dict().items() if name != "page"}
    chosen = {name: params.get(name, "") for name in ("kind", "domain")}
    return TablePage(
        rows=named(rows[(number - 1) * PAGE : number * PAGE]),  # type: ignore[arg-type]
        total=len(rows),
        more_than=False,
        has_next=number < last,
        search="",
        sort="",
        searchable=False,
        filters=[
            BoundFilter("kind", "Left open", list(OpenKind.choices), chosen["kind"]),
            BoundFilter("domain", "Domain", domain_choices(access.benchmark), chosen["domain"]),
        ],
        columns=[],
        params={name: value for name, value in params.items() if value},
        number=number,
        size=PAGE,
    )
