"""One-time sign-in links: made by an admin or the terminal, good once, kept only as a hash."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from rest_framework.authtoken.models import Token

from kit.models import SignInLink

# The route, for `path` and for the terminal, which need not import every page to print it.
LINK_ROUTE = "sign-in/<str:token>/"


def create_link(*, user: User) -> str:
    """Return a fresh token for the person; earlier unused links of theirs stop working."""
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        end_links(user=user)
        SignInLink.objects.create(
            user=user,
            token_hash=_digest(token),
            expires_at=timezone.now() + timedelta(days=settings.SIGN_IN_LINK_DAYS),
        )
    return token


def find_link(token: str) -> SignInLink | None:
    """The link of this token while it is still good."""
    links = SignInLink.objects.filter(used_at=None, expires_at__gt=timezone.now())
    return links.select_related("user").filter(token_hash=_digest(token)).first()


def use_link(token: str) -> User | None:
    """Consume the link: exactly one caller gets the person, everyone later gets None."""
    link = find_link(token)
    if link is None or not link.user.is_active:
        return None
    unused = SignInLink.objects.filter(pk=link.pk, used_at=None)
    return link.user if unused.update(used_at=timezone.now()) else None


def end_links(*, user: User) -> None:
    """Links of the person that were not used yet stop working."""
    SignInLink.objects.filter(user=user, used_at=None).delete()


def choose_password(*, user: User, password: str) -> None:
    """Set the person's password: from here on nobody gets in by a link made before.

    The first password also ends the API token: until then whoever made the account could have
    signed in and kept one. (Sessions opened before end by themselves, in Django's own way.)
    """
    with transaction.atomic():
        held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not held.has_usable_password():
            Token.objects.filter(user=user).delete()
        end_links(user=user)
        user.set_password(password)
        user.save(update_fields=["password"])


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
