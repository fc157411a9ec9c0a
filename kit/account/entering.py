"""The last steps of signing in, by password or link: the code where there is a second factor, and
who may do nothing before they have one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from kit import audit, htmx
from kit.account.factor import OWN_BACKEND, PASSED, NeedsFactor, has_factor, lacks_factor
from kit.account.links import link_of_password
from kit.account.sessions import warn_of_links
from kit.models import LinkRequest, SignInLink

# In a session: when it began with a link.
BY_LINK = "by_link_at"
_WAITING = "waits_for_code"
_WAITING_SECONDS = 10 * 60
# Where people set up the factor, and what they may do before.
_OPEN = frozenset({"second-factor", "choose-password", "sign-out"})


@dataclass(frozen=True)
class Waiting:
    """Who said their password, or came by a link, and not their code yet; where they go then."""

    user: User
    url: str
    link: SignInLink | None


def begin(request: HttpRequest, user: User, *, url: str, link: SignInLink | None = None) -> str:
    """Let the person in, or note who waits for their code; where to go."""
    if not has_factor(user):
        return let_in(request, Waiting(user, url, link))
    request.session.cycle_key()
    request.session[_WAITING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "at": time.time(),
        "url": url,
        "link": link.pk if link else None,
    }
    return reverse("sign-in-code")


def who_waits(request: HttpRequest) -> Waiting | None:
    """Who may say their code now; None after ten minutes, or once the password is another."""
    said: dict[str, Any] = request.session.get(_WAITING, {})
    if time.time() - said.get("at", 0) > _WAITING_SECONDS:
        return None
    user = User.objects.filter(pk=said["user"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), said["hash"]):
        return None
    return Waiting(user, said["url"], SignInLink.objects.filter(pk=said["link"]).first())


def let_in(request: HttpRequest, who: Waiting, *, by_code: bool = False) -> str:
    """Sign the person in, tell of links that others made, and say where to go."""
    user, link = who.user, who.link
    request.session.pop(_WAITING, None)
    LinkRequest.objects.filter(user=user).delete()  # whoever is in needs none
    warn_of_links(request, user, used_now=link)
    login(request, user, backend=OWN_BACKEND)
    request.session.pop(PASSED, None)
    if by_code:
        request.session[PASSED] = True
    if link is not None:
        request.session[BY_LINK] = time.time()
        messages.success(request, f"You are signed in as {user.get_username()}.")
        by_other = link if link.made_by_id not in (None, user.pk) else None
    else:
        by_other = link_of_password(user)
    if by_other is not None:
        request.session[audit.BY_OTHER] = by_other.pk
    return who.url


class SecondFactorGate:
    """Where the site asks for a second factor, who is to have one sets it up before all else.

    Staff are stopped here, admins of a benchmark where they enter it (corpus.access).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> HttpResponse | None:
        """To the page where it is set up; scripts are told."""
        match = request.resolver_match
        is_open = match is not None and match.url_name in _OPEN
        if is_open or not getattr(request.user, "is_staff", False) or not lacks_factor(request):
            return None
        return None if _is_public(view) else self._stop(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The same where a screen found that somebody is an admin."""
        return self._stop(request) if isinstance(error, NeedsFactor) else None

    def _stop(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return JsonResponse({"detail": str(NeedsFactor())}, status=403)
        return htmx.redirect(request, reverse("second-factor"))


def _is_public(view: Any) -> bool:
    """Whether strangers may see it; routes of the API ask by themselves, and a session may not."""
    is_route = hasattr(view, "cls")
    return not is_route and not getattr(view, "login_required", True)
