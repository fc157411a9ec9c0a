"""The accounts of the site: deactivated, renamed, freed of a second factor, erased. What a person
decided stays as it is.

Superusers do it, and whoever has the terminal (`actor` None).
"""

import re
import secrets

from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction

from kit import audit
from kit.account import erasing
from kit.account.header import PROXY
from kit.account.identities import link_identity
from kit.account.links import end_links
from kit.account.names import ERASED, check_name, taken_names
from kit.errors import Refused
from kit.models import ApiToken, LinkRequest, ProviderIdentity, SecondFactor

_PSEUDONYM = re.compile(rf"{ERASED}[0-9a-f]{{8,32}}")


def deactivate(*, person: User, actor: User | None) -> None:
    """Nobody gets in as this person until `reactivate`; sessions, links and tokens rest."""
    _set_active(person, actor, is_active=False, verb="deactivate account")


def reactivate(*, person: User, actor: User | None) -> None:
    """The person may sign in again. Raises Refused for an erased account."""
    _set_active(person, actor, is_active=True, verb="reactivate account")


def rename(*, person: User, actor: User | None, username: str) -> None:
    """Give the account another user name. Raises Refused for one that reads like another's."""
    with transaction.atomic():
        held = _hold(person, actor)
        if _is_erased(held):
            raise Refused("This account was erased; its pseudonym stays.")
        # Its own name is free for it: another letter case, for example.
        taken = {look: name for look, name in taken_names().items() if name != held.username}
        held.username = check_name(username, taken)
        try:
            with transaction.atomic():
                held.save(update_fields=["username"])
        except IntegrityError:
            raise Refused("This name was taken a moment ago.", field="username") from None
        # Without the names: whoever is erased later must be found in no event.
        audit.record(actor=actor, verb="rename account", target=held)
    person.username = held.username


def name_by_proxy(*, person: User, name: str) -> None:
    """Whom the proxy of TRUSTED_HEADER calls `name` gets in as this person, and no earlier name.

    Sessions end. Raises Refused where the name, or the person elsewhere, is linked already.
    """
    with transaction.atomic():
        held = _hold(person, None)
        ProviderIdentity.objects.filter(user=held, issuer=PROXY).delete()
        _end_every_session(held)
        link_identity(user=held, issuer=PROXY, subject=name, actor=None)


def take_factor(*, person: User, actor: User | None) -> None:
    """Take the second factor from somebody who lost it; their sessions end.

    Raises Refused for a superuser, whose factor only the terminal takes, and where there is none.
    """
    with transaction.atomic():
        held = _hold(person, actor)
        if held.is_superuser and actor is not None:
            raise Refused("The second factor of a superuser is taken from the terminal alone.")
        if not SecondFactor.objects.filter(user=held).delete()[0]:
            raise Refused(f"{held.username} has no second factor.")
        _end_every_session(held)
        audit.record(actor=actor, verb="take second factor", target=held)


def erase(*, person: User, actor: User | None) -> str:
    """Take away what tells who the person is; their decisions stay under the pseudonym returned.

    Name, address, password, second factor, identity, sessions, links and tokens go, and with them
    their places in benchmarks (receivers of `kit.account.erasing`, which may raise Refused).
    Nothing undoes it. What they typed in words stays where they typed it.
    """
    with transaction.atomic():
        held = _hold(person, actor)
        if _is_erased(held):
            raise Refused("This account was erased already.")
        erasing.send(sender=None, user=held, actor=actor)
        end_links(user=held)
        for rows in (ApiToken, LinkRequest, ProviderIdentity, SecondFactor):
            rows.objects.filter(user=held).delete()
        _end_every_session(held)
        held.username = f"{ERASED}{secrets.token_hex(4)}"
        held.first_name = held.last_name = held.email = ""
        held.is_active = held.is_staff = held.is_superuser = False
        held.set_unusable_password()
        held.save()
        audit.record(actor=actor, verb="erase account", target=held)
    return held.username


def stand_in(name: str) -> User:
    """The account of somebody of another installation, who is known by this pseudonym alone.

    Like an erased one: nobody signs in to it, and nothing brings it back. Raises Refused where
    somebody signs in under that name.
    """
    user = User.objects.filter(username=name).first()
    if user is not None and user.is_active:
        raise Refused(f"{name} is an account of somebody here. Rename it first.")
    if user is None:
        user = User(username=name, is_active=False)
        user.set_unusable_password()
        user.save()
    return user


def is_pseudonym(name: str) -> bool:
    """Whether an account of this name says of nobody who they are."""
    return _PSEUDONYM.fullmatch(name) is not None


def _set_active(person: User, actor: User | None, *, is_active: bool, verb: str) -> None:
    with transaction.atomic():
        held = _hold(person, actor)
        if _is_erased(held):
            raise Refused("This account was erased.")
        if held.is_active == is_active:
            raise Refused(f"{held.username} is {'active' if is_active else 'deactivated'} already.")
        held.is_active = is_active
        held.save(update_fields=["is_active"])
        if not is_active:
            end_links(user=held)
            _end_every_session(held)
        audit.record(actor=actor, verb=verb, target=held)


def _hold(person: User, actor: User | None) -> User:
    if actor is not None and not actor.is_superuser:
        raise Refused("Only a superuser changes accounts.")
    if actor is not None and actor.pk == person.pk:
        raise Refused("Let another superuser do this to your own account.")
    return User.objects.select_for_update(no_key=True).get(pk=person.pk)


def _is_erased(person: User) -> bool:
    return person.username.startswith(ERASED) and not person.is_active


def _end_every_session(person: User) -> None:
    decode, ended = SessionStore().decode, []
    for key, data in Session.objects.values_list("session_key", "session_data").iterator():
        if decode(data).get("_auth_user_id") == str(person.pk):
            ended.append(key)
    Session.objects.filter(session_key__in=ended).delete()
