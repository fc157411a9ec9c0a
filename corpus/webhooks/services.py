"""Telling other machines what happened in a benchmark.

The record of events is the outbox: an event stands in the transaction of what it tells. Workers
read it on from where each webhook has seen it, write a delivery for every event of its kinds, and
send those that are due. A long transaction may bring events with numbers below those that are
there: so the last hours are looked through again, and what has a delivery already is left out.

What is sent names an event, never a person, a label or a text: who wants more asks the API, which
knows what they may read.
"""

import asyncio
import hmac
import json
import logging
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from corpus.models import Benchmark, Delivery, Webhook
from corpus.pages.fetching import also_allowed
from kit import audit
from kit.errors import Refused
from kit.models import Event

# What an event is about, by its kinds; none of labels, votes, cases, exams and people.
KINDS: Final = {
    "imports": ("Imports", ("corpus.importrun",)),
    "corpus": (
        "Corpus versions and cleanings",
        ("corpus.corpusversion", "corpus.cleaningrun", "corpus.pool", "corpus.poolbuild"),
    ),
    "runs": (
        "Runs that ask models",
        ("debate.debaterun", "debate.answerrun", "debate.hintrun", "corpus.runcomputation"),
    ),
    "releases": ("Releases", ("evaluation.release", "evaluation.releasepush")),
    "settings": (
        "Settings",
        (
            *("corpus.benchmark", "annotate.votingplan", "annotate.qualificationrule"),
            *("annotate.guideline", "debate.promptversion"),
        ),
    ),
}
MOST = 10
# Tries of a delivery, a minute after the first, then twice as long each time: nine hours in all.
TRIES: Final = 10
_FIRST_PAUSE: Final = timedelta(minutes=1)
# No transaction lasts longer (PostgreSQL ends one that is idle after an hour).
_SETTLED: Final = timedelta(hours=3)
_KEPT: Final = timedelta(days=30)
# At once, and how long they take at most.
_GROUP: Final = 20
_SECONDS: Final = 8.0
_LEASE: Final = timedelta(minutes=2)
_delivering = threading.Lock()
logger = logging.getLogger(__name__)


def add_webhook(
    *, benchmark: Benchmark, actor: User, url: str, kinds: Sequence[str]
) -> tuple[Webhook, str]:
    """Tell an address of events from now on; the webhook, and the secret that signs them.

    Raises Refused for an address that is none of the public web, and for more than ten.
    """
    from kit.egress import EgressRefused, check  # slow to import

    if unknown := set(kinds) - KINDS.keys():
        raise Refused(f"No such kind: {', '.join(sorted(unknown))}.", field="kinds")
    if not kinds:
        raise Refused("Choose at least one kind of event.", field="kinds")
    try:
        check(url, allowed=also_allowed())
    except EgressRefused as error:
        raise Refused(str(error), field="url") from None
    with transaction.atomic():
        Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
        if benchmark.webhooks.count() >= MOST:
            raise Refused(f"A benchmark has at most {MOST} webhooks.", field="url")
        last = Event.objects.aggregate(last=Max("pk"))["last"] or 0
        made = Webhook.objects.create(
            benchmark=benchmark, url=url.strip(), kinds=sorted(kinds), seen=last, created_by=actor
        )
        _note(actor, "add webhook", made)
    return made, made.secret


def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Tell the address nothing more; what it was told is forgotten."""
    with transaction.atomic():
        _note(actor, "remove webhook", webhook)
        webhook.delete()


def send_again(*, delivery: Delivery, actor: User) -> None:
    """Have a delivery tried from the first try on, under the same key."""
    with transaction.atomic():
        Delivery.objects.filter(pk=delivery.pk).update(
            state=Delivery.State.WAITING, tries=0, due_at=timezone.now()
        )
        _note(actor, "send webhook again", delivery.webhook, event=delivery.event_id)


def _note(actor: User, verb: str, webhook: Webhook, **more: Any) -> None:
    data = {"url": webhook.url, "kinds": webhook.kinds, **more}
    scope = webhook.benchmark.slug
    audit.record(actor=actor, verb=verb, target=webhook, scope=scope, data=data)


def deliver_apart() -> None:
    """Do `deliver` in a thread of its own, one at a time: an address may take its time, and whoever
    looks for due work must not wait for it."""

    def run() -> None:
        try:
            deliver()
        except Exception:  # the thread's outermost frame
            logger.warning("webhooks: not delivered now", exc_info=True)
        finally:
            connection.close()
            _delivering.release()

    if _delivering.acquire(blocking=False):
        threading.Thread(target=run, name="webhooks", daemon=True).start()


def deliver() -> int:
    """Write down what is to be told and send what is due; how many were tried. Workers do it."""
    for webhook in Webhook.objects.select_related("benchmark"):
        types = [each for kind in webhook.kinds for each in KINDS.get(kind, ("", ()))[1]]
        now = timezone.now()
        found = Event.objects.filter(scope=webhook.benchmark.slug, pk__gt=webhook.seen)
        told = webhook.deliveries.filter(event_id__gt=webhook.seen).values("event_id")
        new = found.filter(target_type__in=types, once=None).exclude(pk__in=told).order_by("pk")
        rows = [Delivery(webhook=webhook, event=event, due_at=now) for event in new[:1_000]]
        if rows:
            Delivery.objects.bulk_create(rows, ignore_conflicts=True)  # another worker may be first
        settled = found.filter(at__lt=now - _SETTLED).aggregate(last=Max("pk"))["last"]
        if settled and len(rows) < 1_000:
            Webhook.objects.filter(pk=webhook.pk, seen__lt=settled).update(seen=settled)
    over = Delivery.objects.exclude(state=Delivery.State.WAITING)
    old = over.filter(tried_at__lt=timezone.now() - _KEPT)
    if old.exists():  # what changes nothing waits for nobody who writes
        old.delete()
    taken = _take()
    if taken:
        asyncio.run(_send_all(taken))
        for delivery in taken:
            _settle(delivery)
    return len(taken)


def _due() -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=timezone.now())


def _take() -> list[Delivery]:
    """Those that are due and nobody else sends: theirs is the time until the next try is due."""
    found = _due().order_by("due_at").select_related("webhook__benchmark", "event")[:_GROUP]
    until = timezone.now() + _LEASE
    return [each for each in found if _due().filter(pk=each.pk).update(due_at=until)]


async def _send_all(deliveries: Sequence[Delivery]) -> None:
    await asyncio.gather(*(_send(each) for each in deliveries))


async def _send(delivery: Delivery) -> None:
    """Fills in what came of it."""
    from kit.egress import EgressFailed, EgressRefused, Limits, post

    body = body_of(delivery)
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": str(delivery.key),
        "Assay-Signature": sign(delivery.webhook.secret, body, int(time.time())),
    }
    limits = Limits(seconds=_SECONDS, size=10_000, redirects=0)
    try:
        delivery.status, text = await post(
            delivery.webhook.url, body, headers, limits=limits, allowed=also_allowed()
        )
        delivery.answer = text.replace("\x00", "")[:300]
    except (EgressFailed, EgressRefused) as error:
        delivery.status, delivery.answer = 0, str(error)[:300]


def body_of(delivery: Delivery) -> bytes:
    """What is sent: which event of which benchmark, about what, when."""
    event = delivery.event
    said = {
        "id": event.pk,
        "event": event.verb,
        "benchmark": delivery.webhook.benchmark.slug,
        "target": {"type": event.target_type, "id": event.target_id},
        "at": event.at.isoformat(),
    }
    return json.dumps(said).encode()


def sign(secret: str, body: bytes, at: int) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 of the seconds, a point and the body, under the secret."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, "sha256").hexdigest()
    return f"t={at},v1={signed}"


def _settle(delivery: Delivery) -> None:
    now, tries = timezone.now(), delivery.tries + 1
    state = Delivery.State.WAITING
    if 200 <= delivery.status < 300:
        state = Delivery.State.TAKEN
    elif tries >= TRIES:
        state = Delivery.State.FAILED
    Delivery.objects.filter(pk=delivery.pk).update(
        state=state,
        tries=F("tries") + 1,
        due_at=now + _FIRST_PAUSE * 2 ** (tries - 1),
        status=delivery.status,
        answer=delivery.answer,
        tried_at=now,
    )
