"""Whose account it is that an identity provider or a proxy names: linked once, known by its name
there from then on, whatever happens to address and user name."""

from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db import transaction

from kit import audit
from kit.account.links import end_links
from kit.account.names import check_name, looks, taken_names
from kit.errors import Refused
from kit.models import ProviderIdentity

_MOST_NAMES = 1_000


class NotLet(SuspiciousOperation):
    """The person is known there, and gets no account here; the message is for them."""


def known_account(issuer: str, subject: str) -> User | None:
    """The account that is linked to this name."""
    known = ProviderIdentity.objects.filter(issuer=issuer, subject=subject)
    identity = known.select_related("user").first()
    return identity.user if identity else None


def link_identity(*, user: User, issuer: str, subject: str, actor: User | None) -> None:
    """The account is that of this name from now on; Refused where either has another."""
    with transaction.atomic():
        held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if ProviderIdentity.objects.filter(user=held).exists() or known_account(issuer, subject):
            raise Refused("The account, or the name, is linked to another already.")
        made = ProviderIdentity.objects.create(user=held, issuer=issuer, subject=subject)
        audit.record(actor=actor, verb="link identity", target=made, data={"issuer": issuer})


def same_address(address: str, *, is_verified: bool) -> User | None:
    """The one account with this address. Both sides must have confirmed it: addresses here are
    kept only once they were."""
    found = list(User.objects.filter(email__iexact=address)[:2]) if address else []
    if not found:
        return None
    if not is_verified:
        raise NotLet(
            "An account here has your mail address, and the provider has not verified that it is "
            "yours. Verify it there, or sign in here as you did before."
        )
    if len(found) > 1 or ProviderIdentity.objects.filter(user=found[0]).exists():
        raise NotLet("Your mail address leads to another account here. Ask whoever runs this site.")
    return found[0]


def unused_account(name: str) -> User | None:
    """The account of this user name that nobody was ever in; its links end."""
    unused = User.objects.filter(username=name, is_active=True, last_login=None, identity=None)
    user = unused.first()
    if user is None or user.has_usable_password():
        return None
    end_links(user=user)
    return user


def new_account(said: str, address: str) -> User:
    """An account without a password, by the name that is said, numbered where it reads like
    another's; "person" where it can be no name."""
    bare = said.partition("@")[0]
    name = User.normalize_username("".join(c for c in bare if c.isalnum() or c in ".-_")[:100])
    try:
        check_name(name, {})
    except Refused:
        name = "person"
    taken = taken_names()
    names = [name, *(f"{name}-{number}" for number in range(2, _MOST_NAMES))]
    free = next(each for each in names if looks(each) not in taken)
    return User.objects.create_user(free, email=address)
