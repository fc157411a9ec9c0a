"""Signing in through an identity provider (OpenID Connect, by mozilla-django-oidc).

A person is who the provider says (`sub`), whatever happens to their address. The first time, an
account here whose owner confirmed the same address becomes theirs, if the provider verified it,
too; else they get one of their own. Groups become roles in the room that knows benchmarks.
"""

import logging
from typing import Any

import requests
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from jwt import PyJWTError
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from kit import audit
from kit.account import came_through_provider, identities
from kit.account.sessions import warn_of_links

logger = logging.getLogger(__name__)

_KEPT_SECONDS = 3600
_TIMEOUT_SECONDS = 10


def discovered() -> dict[str, Any]:
    """What the provider publishes about itself, kept for an hour (OpenID Connect Discovery 4)."""
    key = f"oidc:{settings.OIDC_ISSUER}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        address = f"{settings.OIDC_ISSUER}/.well-known/openid-configuration"
        answer = requests.get(address, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        found = answer.json()
        if str(found.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
            raise ImproperlyConfigured(f"The provider calls itself {found.get('issuer')!r}.")
        cache.set(key, found, _KEPT_SECONDS)
    return found


def _setting(name: str, *default: Any) -> Any:
    """A setting of mozilla-django-oidc: from our three, or from what the provider publishes."""
    ours = {
        "OIDC_RP_CLIENT_ID": settings.OIDC_CLIENT_ID,
        "OIDC_RP_CLIENT_SECRET": settings.OIDC_CLIENT_SECRET,
        "OIDC_RP_SCOPES": settings.OIDC_SCOPES,
        "OIDC_RP_SIGN_ALGO": "RS256",
        "OIDC_USE_PKCE": True,
        "OIDC_TIMEOUT": _TIMEOUT_SECONDS,
        "OIDC_AUTHENTICATION_CALLBACK_URL": "provider-callback",
        "LOGIN_REDIRECT_URL_FAILURE": "/sign-in/",
    }
    published = {
        "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
        "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
        "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
        "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
    }
    if name in published:
        return discovered()[published[name]]
    return ours[name] if name in ours else getattr(settings, name, *default)


class ProviderBackend(OIDCAuthenticationBackend):  # type: ignore[misc]
    """Whose account it is that comes back from the provider."""

    get_settings = staticmethod(_setting)

    def __init__(self) -> None:
        """Django makes every backend at every sign-in: nothing is asked before it is needed."""

    def authenticate(self, request: Any, **given: Any) -> User | None:
        """The person of this way back from the provider; None for what is no such way."""
        if request is None or "nonce" not in given:
            return None
        super().__init__()
        found: User | None = super().authenticate(request, **given)
        return found

    def get_user(self, user_id: int) -> User | None:
        """A person by key, as Django's own backend finds them."""
        return User.objects.filter(pk=user_id, is_active=True).first()

    def verify_token(self, token: str, **given: Any) -> dict[str, Any]:
        """The claims of the token; beyond signature and nonce it must be for us and by them."""
        claims: dict[str, Any] = super().verify_token(token, **given)
        audience = claims.get("aud")
        is_ours = settings.OIDC_CLIENT_ID in (
            audience if isinstance(audience, list) else [audience]
        )
        if not is_ours or str(claims.get("iss", "")).rstrip("/") != settings.OIDC_ISSUER:
            raise SuspiciousOperation("The token is for somebody else, or by somebody else.")
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: Any) -> User | None:
        """The account of the subject; one that is linked now, or made."""
        claims = self.get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload["sub"]:
            raise SuspiciousOperation("The provider answers about another person.")
        claims = payload | claims
        try:
            with transaction.atomic():
                user = _account_of(claims)
                said = claims.get("groups")
                groups = said if isinstance(said, list) else []  # some send one word
                came_through_provider.send(ProviderBackend, user=user, groups=groups)
        except identities.NotLet as error:
            self.request.refused_by_provider = str(error)
            return None
        return user


def _account_of(claims: dict[str, Any]) -> User:
    issuer, subject = settings.OIDC_ISSUER, str(claims["sub"])
    if known := identities.known_account(issuer, subject):
        return known
    address, is_verified = str(claims.get("email") or ""), claims.get("email_verified") is True
    user = identities.same_address(address, is_verified=is_verified)
    if user is None:
        name = str(claims.get("preferred_username") or address)
        user = identities.new_account(name, address if is_verified else "")
    identities.link_identity(user=user, issuer=issuer, subject=subject, actor=user)
    return user


class Begin(OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Go to the provider."""

    get_settings = staticmethod(_setting)


class Callback(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """Come back from the provider."""

    get_settings = staticmethod(_setting)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Signed in, or back at the sign-in page with what went wrong."""
        try:
            answer: HttpResponse = super().get(request)
        except (requests.RequestException, PyJWTError, SuspiciousOperation):
            logger.warning("sign-in through the provider failed", exc_info=True)
            return self.login_failure()
        return answer

    def login_success(self) -> HttpResponse:
        """In; told of links that others made, as at every other way in."""
        warn_of_links(self.request, self.user)
        # Who was in already is not signed in again; this is a means of their own all the same.
        self.request.session.pop(audit.BY_OTHER, None)
        answer: HttpResponse = super().login_success()
        return answer

    def login_failure(self) -> HttpResponse:
        """Back to the sign-in page; what went wrong is said there."""
        words = "The sign-in did not go through. Try once more."
        messages.error(self.request, getattr(self.request, "refused_by_provider", words))
        return redirect("sign-in")
