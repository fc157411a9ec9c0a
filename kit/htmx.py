"""Everything Assay knows about htmx; views speak in pages, fragments and outcomes only.

A screen is one template. Its parts are template partials, so the page and the htmx answer
render the same markup: `render(request, "annotate/workspace/queries.html", ...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django_htmx.http import (
    HTMX_STOP_POLLING,
    HttpResponseClientRedirect,
    reswap,
    trigger_client_event,
)
from django_htmx.middleware import HtmxDetails

from kit.errors import Refused

Context = Mapping[str, Any]
ResponseT = TypeVar("ResponseT", bound=HttpResponseBase)
T = TypeVar("T")

VERSION_FIELD = "version"
DRAFT = "draft"
# Hidden inputs of this prefix say what a field held when the writing began.
BASE = "base_"


def details(request: HttpRequest) -> HtmxDetails:
    """The HX headers of this request, also where HtmxMiddleware is not installed."""
    found: HtmxDetails = getattr(request, "htmx", None) or HtmxDetails(request)
    return found


def target_of(request: HttpRequest) -> str:
    """Id of the element that will take the answer; htmx 4 sends `tag#id`, htmx 2 the bare id."""
    return (details(request).target or "").rpartition("#")[2]


def is_fragment(request: HttpRequest, target: str | None = None) -> bool:
    """Whether htmx asked for a part of the page (and, where given, for this very part).

    Boosted links and history restores want the whole page although htmx sends them.
    """
    hx = details(request)
    wants_part = bool(hx) and not hx.boosted and not hx.history_restore_request
    return wants_part and (target is None or target_of(request) == target)


def is_draft(request: HttpRequest) -> bool:
    """Whether this POST is an autosave: validate laxly, keep what was typed, answer `saved`."""
    return request.POST.get("intent") == DRAFT


def vary(response: ResponseT) -> ResponseT:
    """Tell caches that page and fragment share one URL."""
    patch_vary_headers(response, ["HX-Request"])
    return response


def render(
    request: HttpRequest,
    template: str,
    context: Context | None = None,
    *,
    partial: str | None = None,
    target: str | None = None,
    status: int = 200,
    form: BaseForm | None = None,
) -> HttpResponse:
    """The full page, or its `partial` where htmx asks for a fragment.

    With `target`, only a request aimed at the element of that id gets the partial. A `form` is
    `form` to the template, and comes back with its errors where it was sent, as `invalid`.
    """
    if form is not None:
        context, status = {"form": form} | dict(context or {}), 422 if form.is_bound else status
    name = f"{template}#{partial}" if partial and is_fragment(request, target) else template
    return vary(HttpResponse(render_to_string(name, dict(context or {}), request), status=status))


def invalid(
    request: HttpRequest,
    template: str,
    context: Context | None = None,
    *,
    partial: str | None = None,
    target: str | None = None,
) -> HttpResponse:
    """The bound form with its errors, as 422 (which our htmx-config swaps in)."""
    return render(request, template, context, partial=partial, target=target, status=422)


def redirect(request: HttpRequest, url: str) -> HttpResponse:
    """Go to another page: 302, or HX-Redirect, because htmx would follow a 302 unseen."""
    if details(request):
        return vary(HttpResponseClientRedirect(url))
    return vary(HttpResponseRedirect(url))


def attempt(
    request: HttpRequest,
    act: Callable[[], T],
    url: str | Callable[[T], str],
    said: str = "",
    *,
    otherwise: str = "",
) -> HttpResponse:
    """Do it and say `said`, or say why it was refused; then go to `url`.

    It may be that of what was made; then refusals lead to `otherwise`.
    """
    try:
        made = act()
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return redirect(request, otherwise if callable(url) else url)
    if said:
        messages.success(request, said)
    return redirect(request, url(made) if callable(url) else url)


def press(
    request: HttpRequest,
    form: BaseForm,
    verb: Callable[..., T],
    *,
    said: str,
    back: str,
    to: Callable[[T], str] | None = None,
) -> HttpResponse:
    """What a small form on another page, `back`, asks for; then `to` what was made, or back there,
    which says what is refused."""
    with refusal_shown(request):
        if not form.is_valid():
            raise Refused(" ".join(str(e) for each in form.errors.values() for e in each))
        made = verb(**form.cleaned_data)
        messages.success(request, said)
        return redirect(request, to(made) if to else back)
    return redirect(request, back)


@contextmanager
def refusal_shown(request: HttpRequest) -> Iterator[None]:
    """Show a refusal at the head of the next page; what follows the block goes on."""
    try:
        yield
    except Refused as refusal:
        messages.error(request, refusal.message)


def submit(form: BaseForm, verb: Callable[..., T], /, **more: Any) -> T | None:
    """What the verb gives for the values of a form; None where the form now says what is wrong."""
    if not form.is_valid():
        return None
    try:
        return verb(**form.cleaned_data, **more)
    except Refused as refusal:
        seen = {field.name for field in form.visible_fields()}
        form.add_error(refusal.field if refusal.field in seen else None, refusal.message)
        return None


@dataclass(frozen=True)
class Sides:
    """A field of a row that several people edit: what this person sent, and what is stored."""

    field: str
    label: str
    mine: Any
    theirs: Any

    @property
    def is_same(self) -> bool:
        """Whether both say the same."""
        return bool(self.mine == self.theirs)

    @property
    def is_text(self) -> bool:
        """Whether it takes a field of several lines."""
        return isinstance(self.mine, str)


def saved(
    request: HttpRequest,
    *,
    version: int | None = None,
    version_id: str = VERSION_FIELD,
    slot: str = "",
    fields: Sequence[Sides] = (),
) -> HttpResponse:
    """Answer to an autosave: "Saved 14:03" and the new version out of band, the form untouched.

    `version_id` is the DOM id of the hidden version input; `slot` names a conflict to clear.
    `fields` tell the form what it is based on from now on: what it sent. Where somebody else's
    value was kept instead, it goes along, and the script puts it into a field nobody touched
    since; its base changes only together with it.
    """
    context = {
        "saved_at": timezone.now(),
        "version": version,
        "version_id": version_id,
        "slot": slot,
        "fields": fields,
        "hx_oob": True,
    }
    return reswap(vary(HttpResponse(render_to_string("kit/saved.html", context, request))), "none")


def conflict(request: HttpRequest, context: Context) -> HttpResponse:
    """Somebody saved first (409): both versions side by side, what was typed stays typed.

    Context: `label`, `version` (the one now stored), and either `sides` (one per field that both
    changed) or `field`, `theirs` and optionally `mine` (default: as posted) of a single one.
    Optional: `theirs_by`, `theirs_at`, `save_url` and `back_url` (default: this URL), `slot`
    (default: the first field's name), `version_id` (as in `saved`).
    """
    full = conflict_context(request, context)
    if not is_fragment(request):
        return vary(
            HttpResponse(render_to_string("kit/conflict_page.html", full, request), status=409)
        )
    body = render_to_string("kit/conflict.html", full | {"hx_oob": True}, request)
    # Only the slot beside the field changes: the form under the cursor is never replaced.
    return reswap(vary(HttpResponse(body, status=409)), "none")


def conflict_context(request: HttpRequest, context: Context) -> dict[str, Any]:
    """The caller's context with what the request itself can tell filled in."""
    sides = context.get("sides") or [_only_side(request, context)]
    settled = {"csrfmiddlewaretoken", "intent", VERSION_FIELD}
    settled |= {name for side in sides for name in (side.field, f"{BASE}{side.field}")}
    others = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in settled
        for value in values
    ]
    return {
        "sides": sides,
        "save_url": request.get_full_path(),
        "back_url": request.get_full_path(),
        "slot": sides[0].field,
        "version_id": VERSION_FIELD,
        "others": others,
        **context,
    }


def _only_side(request: HttpRequest, context: Context) -> Sides:
    field = context["field"]
    mine = context.get("mine", request.POST.get(field, ""))
    return Sides(field, context["label"], mine, context["theirs"])


def trigger(response: ResponseT, name: str, **params: Any) -> ResponseT:
    """Send a named event to the page; counters listen with `hx-trigger="name from:body"`."""
    return trigger_client_event(response, name, params)


def stop_polling(response: HttpResponse) -> HttpResponse:
    """286: htmx swaps this answer in and asks no more."""
    response.status_code = HTMX_STOP_POLLING
    response.reason_phrase = "Stop Polling"
    return response
