"""Addresses that are told of a benchmark's events, and what they were told."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.crypto import salted_hmac

from corpus.benchmarks.models import Benchmark
from kit.models import Event


class Webhook(models.Model):
    """An address that is told of events of some kinds (`services.KINDS`).

    Events up to `seen` are settled: told, or of no kind that was asked for.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=2000)
    kinds = models.JSONField(default=list)
    # The secret follows from it and the seed key, and is stored nowhere.
    nonce = models.UUIDField(default=uuid.uuid4, editable=False)
    seen = models.BigIntegerField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.url

    @property
    def secret(self) -> str:
        """What signs its deliveries, in hexadecimal."""
        signed = salted_hmac(
            "corpus.webhooks", str(self.nonce), secret=settings.SEED_KEY, algorithm="sha256"
        )
        return signed.hexdigest()


class Delivery(models.Model):
    """One event told to one address: tried until it is taken, or too often."""

    class State(models.TextChoices):
        """Where it stands."""

        WAITING = "waiting", "waiting"
        TAKEN = "taken", "taken"
        FAILED = "failed", "given up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="+")
    # The same for every try: who was told before knows it.
    key = models.UUIDField(default=uuid.uuid4, editable=False, unique=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    tries = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    # Of the last try: the status, 0 where there was none, and the beginning of the answer.
    status = models.PositiveIntegerField(default=0)
    answer = models.CharField(max_length=300, blank=True, default="")
    tried_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event"], name="delivery_once"),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(state="waiting"), name="delivery_due"
            ),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk} of event {self.event_id}"
