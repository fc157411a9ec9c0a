"""A mail of what waits for a person, to who chose it under Account.

It holds kinds of work, benchmarks and counts, as the home page does: no query, no person.
"""

import logging
from datetime import timedelta
from smtplib import SMTPException
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotate.home import Work, waiting_work
from annotate.models import Digest
from kit import audit
from kit.errors import Refused
from kit.health.logs import mail_fault

logger = logging.getLogger(__name__)
# Days between two mails, by the word that is chosen.
CHOICES: Final = {"never": 0, "daily": 1, "weekly": 7}


def choose_digest(*, user: User, every: str, site: str) -> None:
    """Have a mail sent so often, or none; the first one comes a day or a week from now.

    Raises Refused for another word, and where no mail could reach the person.
    """
    if every not in CHOICES:
        raise Refused(f"Choose one of {', '.join(CHOICES)}.", field="every")
    days = CHOICES[every]
    if days and not (settings.EMAIL_URL and user.email):
        raise Refused("Save and confirm a mail address first.", field="every")
    with transaction.atomic():
        if days:
            fields = {"days": days, "site": site, "sent_on": timezone.now().date()}
            Digest.objects.update_or_create(user=user, defaults=fields)
        else:
            Digest.objects.filter(user=user).delete()
        audit.record(actor=user, verb="choose digest", target=user, data={"every": every})


def chosen(user: User) -> str:
    """How often the person wants one."""
    days = Digest.objects.filter(user=user).values_list("days", flat=True).first() or 0
    return next(name for name, each in CHOICES.items() if each == days)


def send_digests() -> int:
    """Send those that are due; how many were sent. Workers do it every few minutes.

    Nobody for whom nothing waits gets one. What the mail server does not take is tried again.
    """
    if not settings.EMAIL_URL:
        return 0
    today, sent = timezone.now().date(), 0
    rows = Digest.objects.filter(user__is_active=True).exclude(user__email="")
    for digest in rows.select_related("user"):
        unsent = Digest.objects.filter(pk=digest.pk, sent_on=digest.sent_on)
        is_due = digest.sent_on <= today - timedelta(days=digest.days)
        if not is_due or not unsent.update(sent_on=today):
            continue  # another worker has it
        works = waiting_work(digest.user)
        try:
            if works:
                _send(digest, works)
                sent += 1
        except (SMTPException, OSError) as error:  # the mail server's own trouble
            Digest.objects.filter(pk=digest.pk).update(sent_on=digest.sent_on)
            fault = mail_fault(error)
            logger.warning("digest of user %s: not mailed: %s", digest.user_id, fault)
    return sent


def _send(digest: Digest, works: list[Work]) -> None:
    waiting = [
        f"{work.left} x {work.name} ({work.benchmark.name})"
        + (f", due {work.due_on:%-d %B %Y}" if work.due_on else "")
        for work in works
    ]
    lines = [
        f"{digest.user.username}, this waits for you:",
        "",
        *waiting,
        "",
        f"Go on: {digest.site}{reverse('home')}",
        "",
        f"You chose this mail under Account, and end it there: {digest.site}{reverse('account')}",
    ]
    send_mail("Waiting for you in Assay", "\n".join(lines), None, [digest.user.email])
