"""What every answer needs and no view should think of, and what the log says of it."""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import resolve_url
from django.template.loader import render_to_string
from django.urls import ResolverMatch, get_script_prefix
from django.utils.cache import patch_cache_control
from rest_framework.permissions import IsAuthenticated

from kit import htmx
from kit.errors import Refused
from kit.health import logs

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# The answers that our htmx-config swaps in; what is added to any other would never be seen.
SWAPPED = frozenset({200, 201, 202, 286, 409, 422})
LEAVING = ("HX-Redirect", "HX-Refresh", "HX-Location")
_UNUSED: Final = (
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), serial=(), usb=()"
)
# A one-time link in an address signs whoever has it in.
_LINK: Final = re.compile(r"(/sign-in/)[^/\s\"']+")


class ZippedPages(GZipMiddleware):
    """Pages and JSON are sent compressed; releases and other files lie packed already."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_page = response.get("Content-Type", "").startswith(("text/html", "application/json"))
        if response.streaming or not is_page:
            return response
        return super().process_response(request, response)


class HtmxMessagesMiddleware:
    """Append waiting messages, out of band, to fragments. Stands inside MessageMiddleware."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if takes_messages(request, response):
            assert isinstance(response, HttpResponse)
            # Not the request's context processors: they cost queries and nothing here needs them.
            context = {"messages": get_messages(request), "hx_oob": True}
            response.write(render_to_string("kit/messages.html", context))
        return response


class RefusalShownMiddleware:
    """What is refused before a view can show it is said at the head of a page, by status 409."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page of the refusal; htmx goes back to the page it came from, which says it."""
        if not isinstance(error, Refused):
            return None
        came_from = htmx.details(request).current_url_abs_path
        if htmx.details(request) and came_from and request.method != "GET":
            messages.error(request, error.message)
            return htmx.redirect(request, came_from)
        return htmx.render(request, "409.html", {"why": error.message}, status=409)


class LoginExpiredMiddleware:
    """A fragment that was sent to the sign-in page takes the whole page there, and back after.

    htmx would follow the redirect unseen and put the sign-in form into the middle of the page.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not (htmx.details(request) and leads_to_sign_in(response)):
            return response
        return htmx.stop_polling(redirect_to_sign_in(request))


def takes_messages(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether the answer is a fragment that will be swapped in and messages are waiting."""
    waiting = get_messages(request)
    return bool(
        htmx.is_fragment(request)
        and isinstance(response, HttpResponse)
        and response.status_code in SWAPPED
        and response.get("Content-Type", "").startswith("text/html")
        and not any(header in response for header in LEAVING)
        # A page that was rendered whole has shown them already.
        and not getattr(waiting, "used", True)
        and len(waiting)
    )


def leads_to_sign_in(response: HttpResponseBase) -> bool:
    """Whether this is a redirect to LOGIN_URL."""
    if response.status_code not in (301, 302, 303, 307, 308):
        return False
    path = urlsplit(response.get("Location", "")).path
    return path == urlsplit(resolve_url(settings.LOGIN_URL)).path


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Back to the page the person was on, not to the fragment's URL (which may take POST only)."""
    came_from = htmx.details(request).current_url_abs_path or get_script_prefix()
    query = urlencode({"next": came_from})
    return htmx.redirect(request, f"{resolve_url(settings.LOGIN_URL)}?{query}")


def numbered_requests(get_response: GetResponse) -> GetResponse:
    """Every request has an id, which its answer and its lines of the log name. Stands first.

    And no page may use what Assay has no use for, whatever is in it.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        request.request_id = secrets.token_hex(8)  # type: ignore[attr-defined]
        held = logs.request_now.set(request)
        try:
            response = get_response(request)
        finally:
            logs.request_now.reset(held)
        response["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
        response["Permissions-Policy"] = _UNUSED
        return response

    return middleware


def private_pages(get_response: GetResponse) -> GetResponse:
    """No cache keeps an answer, but those of views that anybody may see (and static files)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not _is_public(request.resolver_match):
            patch_cache_control(response, private=True, no_store=True)
        return response

    return middleware


def _is_public(match: ResolverMatch | None) -> bool:
    if match is None:  # an error page shows who is signed in
        return False
    route = getattr(match.func, "cls", None)
    if route is not None:  # of the API, which asks by itself who is there
        return IsAuthenticated not in route.permission_classes
    return not getattr(match.func, "login_required", True)


class RequestLines(logging.Filter):
    """Lines of the log say who was refused, in one line, and hold no token of a sign-in link.

    A refused write (409) is an answer to a person, and under load comes many times a second.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Word the line; False for one that is not written."""
        status = getattr(record, "status_code", None)
        if status == 409:
            return False
        try:
            line = _LINK.sub(r"\1...", record.getMessage())
        except (TypeError, ValueError):  # words that do not fit; the handler tells
            return True
        if status == 403:
            line += _who(getattr(record, "request", None))
            error = record.exc_info[1] if record.exc_info else None
            line += f": {error}" if error is not None and str(error) else ""
            record.exc_info = record.exc_text = None
        record.msg, record.args = line, ()
        return True


def _who(request: object) -> str:
    """The person of a request by number, or by pseudonym where lines have one; not by name."""
    with contextlib.suppress(Exception):  # a line is written whatever is away
        assert isinstance(request, HttpRequest)
        person = request.user.pk
        shown = logs.pseudonym(person) if settings.LOG_FORMAT == "json" else person
        who = f"person {shown}" if person else "nobody signed in"
        return f" ({request.method} by {who})"
    return ""
