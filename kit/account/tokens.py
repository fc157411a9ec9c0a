"""API tokens: hashed, named, scoped, expiring; signing in by one costs one prepared query."""

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from kit import audit
from kit.account.links import digest
from kit.database.prepared import Prepared
from kit.models import ApiToken, Scope

_TOKEN = Prepared(
    lambda token_hash: ApiToken.objects.filter(token_hash=token_hash).select_related("user")
)
# Found in a file, it says what it opens; scanners for leaked secrets look for such words.
_PREFIX = "assay_"


def create_token(*, user: User, name: str, scope: str, days: int, link: int | None = None) -> str:
    """A new token of the person, good for so many days; nobody can read it again.

    `link` is as `audit.link_of` has it: what the token does is marked as its session is.
    """
    token = _PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        made = ApiToken.objects.create(
            user=user,
            name=name,
            scope=scope,
            link_id=link,
            token_hash=digest(token),
            expires_at=timezone.now() + timedelta(days=days),
        )
        data = {"name": name, "scope": scope, "days": days}
        audit.record(actor=user, verb="make API token", target=made, data=data)
    return token


def revoke_token(*, token: ApiToken, actor: User) -> None:
    """The token lets nobody in any more."""
    with transaction.atomic():
        data = {"name": token.name, "scope": token.scope}
        audit.record(actor=actor, verb="revoke API token", target=token, data=data)
        token.delete()


def may_administer(user: User) -> bool:
    """Whether the request may do what admins may: not by a token of a narrower scope."""
    return not getattr(user, "is_without_admin", False)


class TokenAuthentication(authentication.TokenAuthentication):
    """`Authorization: Token <key>`, as Django REST framework has it; what is read needs no scope.

    Whoever writes by a token of the scope `annotate` is nobody's admin meanwhile
    (corpus.access.enter) and no staff.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Whose token it is, and the token; raises PermissionDenied for what it may not do."""
        found: tuple[User, ApiToken] | None = super().authenticate(request)
        if found and self._is_writing(request):
            user, token = found
            if token.scope == Scope.READ:
                raise PermissionDenied("This token may only read. Make one that may annotate.")
            if token.scope != Scope.ADMIN:
                user.is_without_admin = True  # type: ignore[attr-defined]
                user.is_staff = user.is_superuser = False  # in this request; it is never saved
        return found

    def _is_writing(self, request: Request) -> bool:
        takes = getattr((request.parser_context or {}).get("view"), "get_takes_a_place", False)
        return request.method not in SAFE_METHODS or takes

    def authenticate_credentials(self, key: str) -> tuple[User, ApiToken]:
        """Whose token it is; raises AuthenticationFailed where it is nobody's or is over."""
        token = _TOKEN.first(token_hash=digest(key))
        if token is None:
            raise AuthenticationFailed("Invalid token.")
        if token.is_over:
            raise AuthenticationFailed("This token has expired. Make a new one under Account.")
        if not token.user.is_active:
            raise AuthenticationFailed("User inactive or deleted.")
        today = timezone.now().date()
        if token.used_on != today:
            ApiToken.objects.filter(pk=token.pk).update(used_on=today)
        return token.user, token
