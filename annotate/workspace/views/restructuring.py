"""Splitting and merging aspects, moving them to the other scale, history and undo."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.loaders import enter_aspect, enter_query, first_or_404, may_write, number
from annotate.models import Aspect, AspectChange, Scale
from annotate.workspace import restructuring, scales
from annotate.workspace.changes import described, passages_of
from annotate.workspace.forms import PARTS, PartForm, ScaleForm
from annotate.workspace.models import RUBRIC, SCALE_TOP
from annotate.workspace.undoing import undo_change
from annotate.workspace.views.queries import query_context, workspace_url
from annotate.workspace.views.texts import difference
from corpus.access import Access, enter, get_query
from corpus.models import Passage, Query
from kit import htmx
from kit.errors import Conflict, Refused

# Letters that name a partner; G, B and ? mean something else on every page of the query.
LETTERS = "acdefhijklmnopqrstuvwxyz"
_SHOWN = 200


@require_http_methods(["GET", "POST"])
def aspect_split(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Write the aspects that one becomes."""
    access, aspect = enter_aspect(request.user, slug, pk)
    sent = request.POST if request.method == "POST" else None
    first = {"content": aspect.content, "rationale": aspect.rationale, "weight": aspect.weight}
    forms = [PartForm(sent, prefix=f"p{n}", initial={} if n else first) for n in range(PARTS)]

    def page(refusal: str = "", fresh: Aspect | None = None) -> HttpResponse:
        context = {
            **_aspect_context(access, aspect, [aspect]),
            "forms": forms,
            "version": (fresh or aspect).version,
            "refusal": refusal,
        }
        return _render(request, "annotate/aspect_split.html", context)

    def split() -> AspectChange:
        return restructuring.split_aspect(
            aspect=aspect,
            parts=[form.part() for form in forms if form.is_written()],
            actor=access.user,
            expected=number(request.POST.get("version", "")) or 0,
        )

    return page() if sent is None else _do(request, access, aspect.query, split, page)


@require_http_methods(["GET", "POST"])
def aspect_merge(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Choose the partner by its letter, then write what both become."""
    access, aspect = enter_aspect(request.user, slug, pk)
    others = Aspect.objects.filter(query=aspect.query).present().exclude(pk=pk)
    given = request.POST if request.method == "POST" else request.GET
    partner = others.filter(pk=number(given.get("with", "")) or 0).first()
    pair = [aspect, *([partner] if partner else [])]
    is_sent = request.method == "POST" and partner is not None
    both = {
        "content": " ".join(each.content for each in pair).strip(),
        "rationale": "\n".join(each.rationale for each in pair if each.rationale),
    }
    form = PartForm(request.POST if is_sent else None, initial=both if partner else {})

    def page(refusal: str = "", fresh: Aspect | None = None) -> HttpResponse:
        versions = {each.pk: each.version for each in [*pair, *([fresh] if fresh else [])]}
        context = {
            **_aspect_context(access, aspect, pair),
            "partner": partner,
            "partners": list(zip(LETTERS, others, strict=False)),
            "form": form,
            "version": versions[aspect.pk],
            "other": versions[partner.pk] if partner else 0,
            "refusal": refusal,
        }
        return _render(request, "annotate/aspect_merge.html", context)

    def merge() -> AspectChange:
        versions = (number(request.POST.get(name, "")) or 0 for name in ("version", "other"))
        return restructuring.merge_aspects(
            aspects=pair,
            into=form.part(),
            actor=access.user,
            expected={each.pk: version for each, version in zip(pair, versions, strict=True)},
        )

    return _do(request, access, aspect.query, merge, page) if is_sent else page()


@require_http_methods(["GET", "POST"])
def query_scale(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Weigh the query's aspects on the other scale, each anew."""
    access, query = enter_query(request.user, slug, pk)
    sent = request.POST if request.method == "POST" else None
    wanted = (request.GET if sent is None else sent).get("to", "")
    target = wanted if wanted in Scale.values else _other(scales.scale_of(query))
    moving = scales.off_scale(query, target)
    earlier = scales.earlier_weights(query, target)
    form = ScaleForm(sent, aspects=moving, top=SCALE_TOP[target], earlier=earlier)

    def page(refusal: str = "", fresh: Aspect | None = None) -> HttpResponse:
        context = {
            **query_context(access, query),
            "rows": [
                (aspect, RUBRIC[aspect.scale].get(aspect.weight, ""), earlier.get(aspect.pk))
                for aspect in moving
            ],
            "form": form,
            "target": target,
            "top": SCALE_TOP[target],
            "other": _other(target),
            "rubric": sorted(RUBRIC[target].items(), reverse=True),
            "refusal": refusal,
            "fresh": fresh,
        }
        return _render(request, "annotate/query_scale.html", context)

    def move() -> AspectChange:
        form.full_clean()
        return scales.move_to_scale(
            query=query,
            scale=target,
            weights=form.weights(),
            versions=form.versions(),
            actor=access.user,
        )

    return page() if sent is None else _do(request, access, query, move, page)


def _do(
    request: HttpRequest,
    access: Access,
    query: Query,
    verb: Callable[[], AspectChange],
    page: Callable[..., HttpResponse],
) -> HttpResponse:
    """Do the verb and lead to the workspace; refused, the page comes back as it was filled in."""
    try:
        change = verb()
    except Refused as refused:
        return page(refused.message)
    except Conflict as conflict:
        current = conflict.current
        by = current.updated_by or "Somebody"
        words = (
            f"{by} changed a{current.k} meanwhile; it says now: {current.content or '(nothing)'}"
        )
        return page(f"{words} Look again, then send this once more.", current)
    messages.success(request, described(change))
    return htmx.redirect(request, workspace_url(access, query))


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return htmx.render(request, template, context, status=422 if context["refusal"] else 200)


def _aspect_context(access: Access, aspect: Aspect, pair: list[Aspect]) -> dict[str, Any]:
    keys = [pk for each in pair for pk in passages_of(each)]
    return {
        **query_context(access, aspect.query),
        "aspect": aspect,
        "scale": sorted(RUBRIC[aspect.scale].items()),
        "passages": list(Passage.objects.filter(pk__in=keys).order_by("pk")),
    }


def _other(scale: str) -> str:
    return Scale.LIKERT3 if scale == Scale.LIKERT5 else Scale.LIKERT5


@require_GET
def aspect_history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What was done to the query's aspects, newest first, each with its undo."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    rows = AspectChange.objects.filter(query=query).select_related("created_by", "undone_by")
    context = {
        **query_context(access, query),
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
        messages.success(request, f"Undone: {described(change)}")
    except Refused as refused:
        messages.warning(request, refused.message)
    to_history = request.POST.get("back") == "history"
    history = reverse("aspect-history", args=[slug, query.pk])
    return htmx.redirect(request, history if to_history else workspace_url(access, query))


def get_change(query: Query, pk: int) -> AspectChange:
    """A change of this query, or 404."""
    return first_or_404(AspectChange.objects.filter(query=query, pk=pk), "change")


def _shown_change(change: AspectChange) -> dict[str, Any]:
    pairs = (
        [(old, new, difference(old["content"], new["content"]))
         for old, new in zip(change.before, change.after, strict=True)]
        if change.kind in ("clarify", "scale")
        else []
    )  # fmt: skip
    return {"change": change, "said": described(change), "pairs": pairs}
