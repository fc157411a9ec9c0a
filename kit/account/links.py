"""Signing in without a password: one-time links, asking for one, and choosing a password.

A link is made by an admin, the terminal, or for a mail; it is good once and kept only as a hash.
Whoever asks for one gets it by mail where both a mail server and their address are known; else
they wait for an admin, in the same list.
"""

import hashlib
import logging
import secrets
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from kit import audit
from kit.errors import Refused
from kit.health.logs import mail_fault
from kit.models import ApiToken, Event, LinkRequest, ProviderIdentity, SignInLink, Tries

logger = logging.getLogger(__name__)
# The route, for `path` and for the terminal, which need not import every page to print it.
LINK_ROUTE = "sign-in/<str:token>/"
_ADDRESS_SALT = "kit.signin.address"
_ADDRESS_SECONDS = 24 * 60 * 60
AGREED_FOR = timedelta(days=7)


def create_link(*, user: User, made_by: User | None = None) -> str:
    """Return a fresh token for the person; earlier unused links of theirs stop working.

    `made_by` is who will see it though it is somebody else's: the person is told once it was used.
    """
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        end_links(user=user)
        SignInLink.objects.create(
            user=user,
            token_hash=digest(token),
            made_by=made_by,
            expires_at=timezone.now() + timedelta(days=settings.SIGN_IN_LINK_DAYS),
        )
        LinkRequest.objects.filter(user=user, mailed_at=None).delete()
    return token


def find_link(token: str) -> SignInLink | None:
    """The link of this token while it is still good."""
    links = SignInLink.objects.filter(used_at=None, expires_at__gt=timezone.now())
    return links.select_related("user").filter(token_hash=digest(token)).first()


def use_link(token: str) -> SignInLink | None:
    """Consume the link: exactly one caller gets it with its person, everyone later gets None."""
    link = find_link(token)
    if link is None or not link.user.is_active:
        return None
    if not SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now()):
        return None
    LinkRequest.objects.filter(user=link.user).delete()
    return link


def agree_to_link(*, user: User, actor: User, site: str) -> str:
    """A token for a person who decided things, once a second admin wants it; "" until then.

    Whoever holds it can decide in that person's name. Where a mail server and the person's address
    are known, no admin sees it: the link is mailed.
    """
    now = timezone.now()
    asked, _ = LinkRequest.objects.get_or_create(user=user, defaults={"asked_at": now})
    is_agreed = asked.agreed_at is not None and asked.agreed_at > now - AGREED_FOR
    if is_agreed and asked.agreed_by_id != actor.pk and not is_mailed_to(user):
        return create_link(user=user, made_by=actor)
    asked.agreed_by, asked.agreed_at, asked.site, asked.mailed_at = actor, now, site, None
    asked.save()
    return ""


def has_decided(user: User) -> bool:
    """Whether something stands under the person's name, which a link's holder could add to."""
    return Event.objects.filter(actor=user, once=None).exists()


def is_mailed_to(user: User) -> bool:
    """Whether links for the person go to their mail address."""
    return bool(settings.EMAIL_URL and user.email)


def tell_of_links(*, user: User, used_now: SignInLink | None = None) -> list[SignInLink]:
    """Links by others to the account that were used since the person was last told, but for the
    one that they hold. Each is told once; at a first visit there is nothing to tell."""
    links = SignInLink.objects.filter(user=user, told_at=None).exclude(used_at=None)
    if user.last_login is not None:
        links = links.exclude(made_by=None).exclude(pk=used_now.pk if used_now else 0)
    found = list(links.select_related("made_by").order_by("used_at"))
    SignInLink.objects.filter(pk__in=[each.pk for each in found]).update(told_at=timezone.now())
    return found if user.last_login is not None else []


def end_links(*, user: User) -> None:
    """Links of the person that were not used yet stop working."""
    SignInLink.objects.filter(user=user, used_at=None).delete()


def is_first_way_in(link: SignInLink) -> bool:
    """Whether nobody was in the account before who came by this link, nor has a password now.

    Then it is its holder's, whoever that is: there is nobody else yet whom it could be taken from.
    """
    user = link.user
    earlier = SignInLink.objects.filter(user=user, used_at__lt=link.used_at)
    is_linked = ProviderIdentity.objects.filter(user=user).exists()
    return not (user.has_usable_password() or is_linked or earlier.exists())


def link_by_other(request: HttpRequest) -> SignInLink | None:
    """The link by somebody else with which this session began, or its token's did."""
    pk = audit.link_of(request)
    return None if pk is None else SignInLink.objects.select_related("user").get(pk=pk)


def link_of_password(user: User) -> SignInLink | None:
    """The link by somebody else after which the person's password was chosen, if it was so."""
    return SignInLink.objects.filter(user=user, chose_password=True).first()


def choose_password(
    *, user: User, password: str, link: SignInLink | None = None, keeps_tokens: bool = False
) -> int:
    """Set the person's password: from here on nobody gets in by a link made before.

    `link` is the one by somebody else with which this session began: its maker may be who chooses.

    API tokens end as well: whoever knew the old password could have made one. A person may keep
    theirs, but not past the first password: until then whoever made the account could have signed
    in. Returns how many are left. (Sessions opened before end by themselves, in Django's own way.)
    """
    with transaction.atomic():
        held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not (keeps_tokens and held.has_usable_password()):
            ApiToken.objects.filter(user=user).delete()
        end_links(user=user)
        SignInLink.objects.filter(user=user, chose_password=True).update(chose_password=False)
        if link is not None:
            SignInLink.objects.filter(pk=link.pk).update(chose_password=True)
        user.set_password(password)
        user.save(update_fields=["password"])
        return ApiToken.objects.filter(user=user).count()


def ask_for_link(*, name: str, site: str) -> None:
    """Note that the person of this user name or mail address wants a link, if there is one.

    For a name that nobody has a row is written as well, until the hour is over: the time that
    writing takes would tell who exists.
    """
    now = timezone.now()
    people = User.objects.filter(Q(username=name) | Q(email__iexact=name), is_active=True)
    found = list(people)
    for user in found:
        asked = {"asked_at": now, "site": site, "mailed_at": None}
        LinkRequest.objects.update_or_create(user=user, defaults=asked)
    if not found:
        until = {"ends_at": now + timedelta(hours=1)}
        Tries.objects.update_or_create(key=f"nobody:{digest(name)}", defaults=until)


def waiting_requests() -> QuerySet[LinkRequest]:
    """Requests that no mail answered."""
    return LinkRequest.objects.filter(mailed_at=None).select_related("user", "agreed_by")


def mail_links() -> None:
    """Send what was asked for and can be sent; workers do it every few seconds.

    What cannot be sent now stays among those who wait for an admin, and is tried again.
    """
    if not settings.EMAIL_URL:
        return
    for asked in waiting_requests().filter(user__is_active=True).exclude(user__email=""):
        unsent = LinkRequest.objects.filter(pk=asked.pk, mailed_at=None)
        if not unsent.update(mailed_at=timezone.now()):
            continue  # another worker has it
        try:
            path = reverse("sign-in-link", args=[create_link(user=asked.user)])
            _send("link", asked.user, asked.user.email, asked.site + path)
        except (SMTPException, OSError) as error:  # the mail server's own trouble
            LinkRequest.objects.filter(pk=asked.pk).update(mailed_at=None)
            fault = mail_fault(error)
            logger.warning("sign-in link of user %s: not mailed: %s", asked.user_id, fault)


def hand_link(*, user: User, actor: User, site: str) -> str:
    """A link for anybody, by whoever runs the site; for somebody who decided things "" until a
    second superuser wants it, or where it is mailed. Raises Refused for everybody else."""
    if not actor.is_superuser:
        raise Refused("Only a superuser makes links for any account.")
    with transaction.atomic():
        if has_decided(user):
            token = agree_to_link(user=user, actor=actor, site=site)
        else:
            token = create_link(user=user, made_by=actor)
        verb = "renew sign-in link" if token else "agree to sign-in link"
        audit.record(actor=actor, verb=verb, target=user)
        return token


def ask_for_address(*, user: User, address: str, site: str) -> None:
    """Mail a link to the address by which the person confirms that it is theirs."""
    said = signing.dumps([user.pk, address], salt=_ADDRESS_SALT)
    _send("address", user, address, site + reverse("account-address", args=[said]))


def confirmed_address(*, user: User, said: str) -> str:
    """The address that the person's link confirms; Refused for another link or an old one."""
    try:
        pk, address = signing.loads(said, salt=_ADDRESS_SALT, max_age=_ADDRESS_SECONDS)
    except signing.BadSignature:
        pk = address = None
    if pk != user.pk:
        raise Refused("This link is over, or belongs to another account. Save the address again.")
    return str(address)


def set_address(*, user: User, address: str) -> None:
    """From now on links go to this address; the one before is told."""
    before = user.email
    with transaction.atomic():
        audit.record(actor=user, verb="change mail address", target=user)
        user.email = address
        user.save(update_fields=["email"])
    if before and before != address:
        _send("address_changed", user, before, "")


def _send(template: str, user: User, address: str, url: str) -> None:
    """A mail in plain text: the first line of its template is the subject."""
    context = {"user": user, "url": url, "days": settings.SIGN_IN_LINK_DAYS}
    subject, _, body = render_to_string(f"kit/mail/{template}.txt", context).partition("\n")
    send_mail(subject, body.lstrip(), None, [address])


def digest(token: str) -> str:
    """What is kept of a token that nobody could guess."""
    return hashlib.sha256(token.encode()).hexdigest()
