"""Writing aspects: add, autosave, remove with undo, move."""

from typing import Any, Literal

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from annotate.loaders import enter_aspect, enter_query
from annotate.models import Aspect
from annotate.workspace import aspects as verbs
from annotate.workspace.forms import AspectForm
from annotate.workspace.views.queries import WORKSPACE, workspace, workspace_url
from corpus.access import Access
from corpus.models import Query
from kit import htmx
from kit.errors import Conflict, Refused

FIELDS = {"content": "aspect", "rationale": "rationale", "weight": "weight"}


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
    pk = aspect.pk
    response = htmx.saved(
        request,
        version=aspect.version,
        version_id=f"version-{pk}",
        slot=f"aspect-{pk}",
        fields=[_stored(name, mine[name], aspect) for name in FIELDS],
    )
    # The numbers beside the form follow; the form itself stays as it is under the cursor.
    context = workspace(access, aspect.query) | {"hx_oob": True}
    response.write(render_to_string(f"{WORKSPACE}#shares", context, request))
    return response


def _stored(name: str, mine: Any, aspect: Aspect) -> htmx.Sides:
    # A weight that nobody chose is none: the form must not show the one it began with as chosen.
    theirs = aspect.chosen_weight if name == "weight" else getattr(aspect, name)
    return htmx.Sides(name, "", *("" if each is None else each for each in (mine, theirs)))


def _conflict(
    request: HttpRequest, access: Access, conflict: Conflict, mine: dict[str, Any]
) -> HttpResponse:
    current: Aspect = conflict.current
    sides = [
        htmx.Sides(
            name,
            f"{FIELDS[name].capitalize()} of a{current.k}",
            mine[name],
            getattr(current, name),
        )
        for name in conflict.fields
    ]
    context = {
        "label": f"a{current.k}",
        "sides": sides,
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
