"""Aspects: writing with autosave, moving, splitting, merging, the other scale, history and undo."""

from collections.abc import Callable
from typing import Any, Literal

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.loaders import enter_aspect, enter_query, may_write
from annotate.models import Aspect, AspectChange, Scale
from annotate.workspace import aspects as verbs
from annotate.workspace import restructuring, scales
from annotate.workspace.changes import described, passages_of
from annotate.workspace.forms import PARTS, AspectForm, PartForm
from annotate.workspace.models import RUBRIC, SCALE_TOP
from annotate.workspace.views.queries import WORKSPACE, query_context, workspace, workspace_url
from annotate.workspace.views.texts import difference
from corpus.access import Access, enter, first_or_404, get_query
from corpus.models import Passage, Query
from kit import htmx
from kit.errors import Conflict, Refused
from kit.numbers import number

FIELDS = {"content": "aspect", "rationale": "rationale", "weight": "weight"}
# Letters that name a partner; G, B and ? mean something else on every page of the query.
LETTERS = "acdefhijklmnopqrstuvwxyz"
_SHOWN = 200


@require_POST
def aspect_add(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A new empty aspect at the end."""
    access, query = enter_query(request.user, slug, pk)
    added = verbs.add_aspect(query=query, actor=access.user)
    return _answer(request, access, query, part="added", fresh=added.pk)


@require_POST
def aspect_save(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Autosave of one aspect; a stale one gets both versions side by side."""
    access, aspect = enter_aspect(request.user, slug, pk)
    form = AspectForm(request.POST)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        message = f"Not saved ({FIELDS.get(name, name)}): {errors[0]}"
        return _refuse(request, access, aspect, message)
    data = dict(form.cleaned_data)
    expected = data.pop("version")
    try:
        saved = verbs.save_aspect(
            aspect=aspect, actor=access.user, expected=expected, base=form.base(), **data
        )
    except Conflict as conflict:
        return _conflict(request, access, conflict, data)
    except Refused as refusal:
        return _refuse(request, access, aspect, refusal.message)
    return _saved(request, access, saved, data)


@require_POST
def aspect_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take an aspect away; in its place stands how to get it back."""
    access, aspect = enter_aspect(request.user, slug, pk)
    try:
        verbs.remove_aspect(aspect=aspect, actor=access.user)
    except Refused as refusal:
        return _refuse(request, access, aspect, refusal.message)
    return _answer(request, access, aspect.query, part="list", removed=aspect)


@require_POST
def aspect_restore(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Undo of a removal."""
    access, aspect = enter_aspect(request.user, slug, pk)
    verbs.restore_aspect(aspect=aspect, actor=access.user)
    return _answer(request, access, aspect.query, part="list", fresh=aspect.pk)


@require_POST
def aspect_move(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Up or down by one place."""
    access, aspect = enter_aspect(request.user, slug, pk)
    direction: Literal["up", "down"] = "up" if request.POST.get("to") == "up" else "down"
    verbs.move_aspect(aspect=aspect, actor=access.user, direction=direction)
    return _answer(request, access, aspect.query, part="list", moved=aspect.pk, to=direction)


def _answer(
    request: HttpRequest, access: Access, query: Query, *, part: str, **extra: Any
) -> HttpResponse:
    if not htmx.is_fragment(request):
        removed = extra.get("removed")
        query_string = f"?removed={removed.pk}" if removed else ""
        return htmx.redirect(request, workspace_url(access, query) + query_string)
    context = workspace(access, query) | extra | {"hx_oob": True}
    return htmx.render(request, WORKSPACE, context, partial=f"aspects-{part}")


def _saved(
    request: HttpRequest, access: Access, aspect: Aspect, mine: dict[str, Any]
) -> HttpResponse:
    if not htmx.is_fragment(request):
        return htmx.redirect(request, workspace_url(access, aspect.query))
    # A weight that nobody chose is none: the form must not show the one it began with as chosen.
    stored: dict[str, Any] = {"content": aspect.content, "rationale": aspect.rationale}
    stored["weight"] = aspect.chosen_weight
    sides = [
        htmx.Sides(name, "", *("" if each is None else each for each in (mine[name], stored[name])))
        for name in FIELDS
    ]
    response = htmx.saved(
        request,
        version=aspect.version,
        version_id=f"version-{aspect.pk}",
        slot=f"aspect-{aspect.pk}",
        fields=sides,
    )
    # The numbers beside the form follow; the form itself stays as it is under the cursor.
    context = workspace(access, aspect.query) | {"hx_oob": True}
    response.write(render_to_string(f"{WORKSPACE}#shares", context, request))
    return response


def _conflict(
    request: HttpRequest, access: Access, conflict: Conflict, mine: dict[str, Any]
) -> HttpResponse:
    current: Aspect = conflict.current
    labels = {name: f"{FIELDS[name].capitalize()} of a{current.k}" for name in conflict.fields}
    context = {
        "label": f"a{current.k}",
        "sides": [
            htmx.Sides(name, label, mine[name], getattr(current, name))
            for name, label in labels.items()
        ],
        "theirs_by": current.updated_by,
        "theirs_at": current.updated_at,
        "version": current.version,
        "version_id": f"version-{current.pk}",
        "slot": f"aspect-{current.pk}",
        "back_url": workspace_url(access, current.query),
    }
    return htmx.conflict(request, context)


def _refuse(request: HttpRequest, access: Access, aspect: Aspect, message: str) -> HttpResponse:
    messages.warning(request, message)
    if not htmx.is_fragment(request):
        return htmx.redirect(request, workspace_url(access, aspect.query))
    # Nothing of the page changes: the message comes out of band, the words stay in the field.
    return htmx.vary(HttpResponse(status=422))


@require_http_methods(["GET", "POST"])
def aspect_split(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Write the aspects that one becomes."""
    access, aspect = enter_aspect(request.user, slug, pk)
    sent = request.POST if request.method == "POST" else None
    first = {"content": aspect.content, "rationale": aspect.rationale, "weight": aspect.weight}
    forms = [PartForm(sent, prefix=f"p{n}", initial={} if n else first) for n in range(PARTS)]

    def split() -> AspectChange:
        return restructuring.split_aspect(
            aspect=aspect,
            parts=[form.part() for form in forms if form.is_written()],
            actor=access.user,
            expected=number(request.POST.get("version", "")) or 0,
        )

    names = ("First part", "Second part", "Third part", "Fourth part")
    context = _aspect_context(aspect) | {"parts": list(zip(forms, names, strict=True))}
    return _restructure(request, access, [aspect], "aspect_split", context, split)


@require_http_methods(["GET", "POST"])
def aspect_merge(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Choose the partner by its letter, then write what both become."""
    access, aspect = enter_aspect(request.user, slug, pk)
    others = Aspect.objects.filter(query=aspect.query).present().exclude(pk=pk)
    sent = request.POST if request.method == "POST" else request.GET
    partner = others.filter(pk=number(sent.get("with", "")) or 0).first()
    pair = [aspect, *([partner] if partner else [])]
    both = {
        "content": " ".join(each.content for each in pair).strip(),
        "rationale": "\n".join(each.rationale for each in pair if each.rationale),
    }
    is_sent = request.method == "POST" and partner is not None
    form = PartForm(request.POST if is_sent else None, initial=both if partner else {})

    def merge() -> AspectChange:
        versions = (number(request.POST.get(name, "")) or 0 for name in ("version", "other"))
        return restructuring.merge_aspects(
            aspects=pair,
            into=form.part(),
            actor=access.user,
            expected={each.pk: version for each, version in zip(pair, versions, strict=True)},
        )

    letters = list(zip(LETTERS, others, strict=False))
    context = {"partner": partner, "partners": letters, "form": form, **_aspect_context(*pair)}
    return _restructure(request, access, pair, "aspect_merge", context, merge if is_sent else None)


@require_http_methods(["GET", "POST"])
def query_scale(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Weigh the query's aspects on another scale, each anew."""
    access, query = enter_query(request.user, slug, pk)
    sent = request.POST if request.method == "POST" else request.GET
    target, present = sent.get("to", ""), scales.scale_of(query)
    if target not in Scale.values:
        target = next(each for each in Scale.values if each != present)
    moving = scales.off_scale(query, target)
    earlier = scales.earlier_weights(query, target)

    def chosen(name: str) -> dict[int, int]:
        found = {each.pk: number(request.POST.get(f"{name}-{each.pk}", "")) for each in moving}
        return {pk: value for pk, value in found.items() if value is not None}

    def move() -> AspectChange:
        given = {"weights": chosen("weight"), "versions": chosen("version")}
        return restructuring.move_to_scale(query=query, scale=target, actor=access.user, **given)

    context = {
        "query": query,
        "rows": [
            (
                aspect,
                RUBRIC[aspect.scale].get(aspect.weight, ""),
                earlier.get(aspect.pk),
                f"weight-{aspect.pk}",
            )
            for aspect in moving
        ],
        "target": target,
        "top": SCALE_TOP[target],
        "others": [each for each in Scale.choices if each[0] != target],
        "rubric": sorted(RUBRIC[target].items(), reverse=True),
    }
    return _restructure(request, access, moving, "query_scale", context, move)


def _restructure(
    request: HttpRequest,
    access: Access,
    aspects: list[Aspect],
    template: str,
    context: dict[str, Any],
    verb: Callable[[], AspectChange] | None,
) -> HttpResponse:
    """The page; sent, do the verb and lead to the workspace, or show why not as it was filled."""
    query, refusal = context["query"], ""
    if request.method == "POST" and verb is not None:
        try:
            change = verb()
        except Refused as refused:
            refusal = refused.message
        except Conflict as conflict:
            now = conflict.current
            refusal = (
                f"{now.updated_by or 'Somebody'} changed a{now.k} meanwhile; it says now: "
                f"{now.content or '(nothing)'} Look again, then send this once more."
            )
            for each in aspects:  # what is sent once more goes by what is shown now
                each.version = now.version if each == now else each.version
        else:
            messages.success(request, described(change))
            return htmx.redirect(request, workspace_url(access, query))
    full = query_context(access, query) | context | {"refusal": refusal}
    name = f"annotate/workspace/{template}.html"
    return htmx.render(request, name, full, status=422 if refusal else 200)


def _aspect_context(*aspects: Aspect) -> dict[str, Any]:
    keys = [pk for each in aspects for pk in passages_of(each)]
    return {
        "query": aspects[0].query,
        "aspect": aspects[0],
        "scale": sorted(RUBRIC[aspects[0].scale].items()),
        "passages": list(Passage.objects.filter(pk__in=keys).order_by("pk")),
    }


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
    return htmx.render(request, "annotate/workspace/aspect_history.html", context)


@require_POST
def change_undo(request: HttpRequest, slug: str, pk: int, change_pk: int) -> HttpResponse:
    """Take one change back."""
    access, query = enter_query(request.user, slug, pk)
    change = first_or_404(AspectChange.objects.filter(query=query, pk=change_pk), "change")
    to_history = request.POST.get("back") == "history"
    url = reverse("aspect-history" if to_history else "query", args=[slug, query.pk])
    said = f"Undone: {described(change)}"
    return htmx.attempt(
        request, lambda: restructuring.undo_change(change=change, actor=access.user), url, said
    )


def _shown_change(change: AspectChange) -> dict[str, Any]:
    is_writing = change.kind in ("clarify", "scale")
    pairs = zip(change.before, change.after, strict=True) if is_writing else ()
    shown = [(old, new, difference(old["content"], new["content"])) for old, new in pairs]
    return {"change": change, "text": described(change), "pairs": shown}
