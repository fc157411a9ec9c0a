"""Signing in by a header of a proxy that knows who is there (Django's RemoteUserMiddleware).

It counts where one of TRUSTED_PROXIES is the peer itself; from anybody else it is taken away. The
session ends with the header, or when that names another person.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.backends import RemoteUserBackend
from django.contrib.auth.middleware import RemoteUserMiddleware
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kit.account import identities
from kit.account.limits import is_proxy
from kit.account.sessions import warn_of_links
from kit.errors import Refused

# Who says the name, in the table of identities.
PROXY = "proxy"
_BACKEND = "kit.account.header.HeaderBackend"
# In a session: the name with which it began.
_SAID = "named_by_proxy"
_LONGEST = 255


class HeaderBackend(RemoteUserBackend):
    """Whose account it is that the proxy names."""

    def authenticate(self, request: Any, remote_user: Any) -> User | None:  # type: ignore[override]
        """The person; None where the name has no account here and gets none."""
        name = str(remote_user)
        try:
            with transaction.atomic():
                user = _account_of(name)
        except (identities.NotLet, Refused, IntegrityError):  # or another request was quicker
            user = identities.known_account(PROXY, name)
        if user is None or not self.user_can_authenticate(user):
            return None
        warn_of_links(request, user)
        return user


def _account_of(name: str) -> User | None:
    if known := identities.known_account(PROXY, name):
        return known
    address = name if "@" in name else ""
    user = identities.same_address(address, is_verified=True) or identities.unused_account(name)
    if user is None and settings.TRUSTED_HEADER_NEW_PEOPLE:
        user = identities.new_account(name, address)
    if user is not None:
        identities.link_identity(user=user, issuer=PROXY, subject=name, actor=user)
    return user


class TrustedHeaderMiddleware(RemoteUserMiddleware):
    """As Django's, but for who may say it, and what."""

    async_capable = False  # type: ignore[assignment]

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        name = settings.TRUSTED_HEADER.upper().replace("-", "_")
        self.header = f"HTTP_{name}"  # type: ignore[misc]

    def process_request(self, request: HttpRequest) -> None:
        """Who the header names is in. Two names are none: a server joins them by a comma."""
        said = request.META.pop(self.header, "").strip()
        if said and is_proxy(request) and "," not in said and len(said) <= _LONGEST:
            request.META[self.header] = said
        super().process_request(request)
        if self.header not in request.META:
            return
        if request.session.get(BACKEND_SESSION_KEY) == _BACKEND:
            if request.session.get(_SAID) != said:
                request.session[_SAID] = said
        elif not request.user.is_authenticated:
            request.unknown_to_us = said  # type: ignore[attr-defined]

    def clean_username(self, username: str, request: HttpRequest) -> str:
        """The person's user name if the session began with this header, which may be another."""
        is_same = request.session.get(_SAID) == username
        return request.user.get_username() if is_same else ""
