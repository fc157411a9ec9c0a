"""The ledger: a row for every attempt that may cost money, and who pays; shared rate limits; how
each model is asked."""

import hashlib
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, ClassVar, Final, Self

from django.db import connections, models
from django.db.models import Q, Value

from kit.models import Quota
from llm.endpoints import Endpoint
from llm.errors import without_secrets
from llm.prices import Price
from llm.profiles import Profile, known

# An account counts whole millionths of a millionth of a dollar: sums stay exact on every database.
UNITS_PER_USD: Final = 10**12
# How long a run waits for one answer. Later nobody alive waits for it any more; the margin is for
# writing the outcome down.
CALL_DEADLINE_S: Final = 120.0
LOST_AFTER: Final = timedelta(seconds=CALL_DEADLINE_S + 60)


def to_units(usd: Decimal) -> int:
    """The amount in an account's units, rounded up: a fraction counts against the budget."""
    return int((usd * UNITS_PER_USD).to_integral_value(rounding=ROUND_CEILING))


def to_usd(units: int) -> Decimal:
    """The amount in USD, exact."""
    return Decimal(units).scaleb(-12)


class Account(models.Model):
    """What calls are charged to, such as one debate run: a hard limit, spent, and reserved.

    `reserved` holds the upper bounds of calls whose cost is not known: under way, possibly paid,
    or answered without usage. Both sums follow from the calls at any time
    (`ledger.reading.spending`). No constraint guards them: one that fired would keep paid answers
    from being written down.
    """

    name = models.CharField(max_length=100, blank=True)
    limit_units = models.BigIntegerField(null=True)
    spent_units = models.BigIntegerField(default=0)
    reserved_units = models.BigIntegerField(default=0)
    # What all accounts of a benchmark share, where calls or money are limited; `made` counts the
    # attempts of this one while it is.
    quota = models.ForeignKey(Quota, null=True, on_delete=models.SET_NULL, related_name="accounts")
    made = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return self.name or f"account {self.pk}"

    @property
    def left_units(self) -> int | None:
        """What the limit has room for; None is no limit."""
        held = self.spent_units + self.reserved_units
        return None if self.limit_units is None else self.limit_units - held

    @property
    def limit_usd(self) -> Decimal | None:
        """The most that may ever be spent; None is no limit."""
        return None if self.limit_units is None else to_usd(self.limit_units)

    @property
    def spent_usd(self) -> Decimal:
        """What the calls that were answered have cost."""
        return to_usd(self.spent_units)

    @property
    def reserved_usd(self) -> Decimal:
        """What calls of unknown cost may come to."""
        return to_usd(self.reserved_units)


class RateLimit(models.Model):
    """Until when an endpoint's requests and tokens are given away; moved under a lock of its row.

    Seconds since the epoch, shared by all workers (`llm.limits`). `turns` has every run that asked
    lately, as "benchmark/task/id": what it was given, in seconds of the limit by its weight, and
    until when others wait for it to come back.
    """

    endpoint = models.CharField(max_length=64, primary_key=True)
    requests_until = models.FloatField(default=0, db_default=0)
    tokens_until = models.FloatField(default=0, db_default=0)
    turns = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))

    def __str__(self) -> str:
        return self.endpoint


class CallQuerySet(models.QuerySet["Call"]):
    """How calls are spoken of."""

    def answered(self) -> "CallQuerySet":
        """Paid for and answered: what a replay takes its answer from."""
        return self.filter(status=Call.Status.ANSWERED)

    def unanswered(self) -> Self:
        """Calls without an answer that may have been paid for, by the index that has no others."""
        # In so many words: SQLite takes an index of some rows for none but values that it is shown.
        shown = ["llm_call.status IN ('intent', 'possibly_paid')"]
        return self.extra(where=shown)  # type: ignore[return-value]  # noqa: S610

    def under_way(self) -> Self:
        """Calls that somebody waits for, as far as is known."""
        return self.unanswered().filter(status=Call.Status.INTENT)

    def about(self, subject: str) -> "CallQuerySet":
        """The calls of a subject and of what lies under it: "debate:12" finds "debate:12:r1:A"."""
        under = Q(subject__startswith=f"{subject}:")
        if connections[self.db].vendor == "sqlite":
            # SQLite has no index for LIKE; between ":" and the sign after it lies the same.
            under = Q(subject__gte=f"{subject}:", subject__lt=f"{subject};")
        return self.filter(Q(subject=subject) | under)


class Call(models.Model):
    """One attempt at one request: written before it is sent, settled by what came of it.

    Token counts are null where the endpoint gave none, and so is the cost: unknown, not free.
    """

    class Status(models.TextChoices):
        INTENT = "intent", "sent, not yet answered"
        ANSWERED = "answered", "answered"
        FAILED = "failed", "failed, not paid"
        POSSIBLY_PAID = "possibly_paid", "not answered, possibly paid"

    # A late answer may still settle an attempt that was given up; nothing else moves twice.
    MOVES: ClassVar[dict[str, frozenset[str]]] = {
        Status.INTENT: frozenset({Status.ANSWERED, Status.FAILED, Status.POSSIBLY_PAID}),
        Status.POSSIBLY_PAID: frozenset({Status.ANSWERED}),
        Status.ANSWERED: frozenset(),
        Status.FAILED: frozenset(),
    }

    key = models.CharField(max_length=64)
    attempt = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    endpoint = models.CharField(max_length=64)
    practice = models.BooleanField(default=False)
    subject = models.CharField(max_length=200, blank=True, db_index=True)
    owner = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.INTENT)
    request = models.JSONField()
    text = models.TextField(null=True)
    # Functions that the model wants called: [{"id", "name", "arguments"}].
    tool_calls = models.JSONField(null=True)
    logprobs = models.JSONField(null=True)
    finish_reason = models.CharField(max_length=64, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    reasoning_tokens = models.PositiveIntegerField(null=True)
    elapsed_s = models.FloatField(null=True)
    account = models.ForeignKey(Account, null=True, on_delete=models.PROTECT, related_name="calls")
    # USD per million tokens as on the day of the call, and the day from which they hold.
    price_input = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    price_cached = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    price_output = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    price_date = models.DateField(null=True)
    # What it cost, and what it could have cost at most; null where no price or count is known.
    usd = models.DecimalField(max_digits=18, decimal_places=12, null=True)
    bound_usd = models.DecimalField(max_digits=18, decimal_places=12, null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)

    objects = CallQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "attempt"], name="call_attempt_once"),
            models.UniqueConstraint(
                fields=["key"], condition=Q(status="answered"), name="call_answered_once"
            ),
            models.CheckConstraint(
                condition=~Q(status="answered") | Q(text__isnull=False),
                name="call_answered_has_text",
            ),
        ]
        indexes = [
            models.Index(
                fields=["status", "created_at"],
                condition=Q(status__in=["intent", "possibly_paid"]),
                name="call_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.key[:8]} attempt {self.attempt}: {self.status}"

    @property
    def price(self) -> Price | None:
        """The price that it was begun at."""
        if self.price_input is None or self.price_cached is None or self.price_output is None:
            return None
        return Price(self.price_input, self.price_cached, self.price_output)

    @property
    def at_most_usd(self) -> Decimal | None:
        """What it may come to while its cost is not known; None where it is, or nothing is."""
        is_open = self.usd is None and self.status != self.Status.FAILED
        return self.bound_usd if is_open else None

    @property
    def units(self) -> tuple[int, int]:
        """What it puts on its account: known cost, and the upper bound of an unknown one."""
        return to_units(self.usd or Decimal(0)), to_units(self.at_most_usd or Decimal(0))


class ModelProfileQuerySet(models.QuerySet["ModelProfile"]):
    """How profiles are spoken of."""

    def learnt(self, endpoint: Endpoint) -> dict[str, Profile]:
        """How models are asked there, as their refusals taught, at this address."""
        rows = self.filter(endpoint=endpoint.name, address=_digest(endpoint))
        return {row.model: Profile.read(row.profile) for row in rows if row.profile}

    def of(self, endpoint: Endpoint, model: str) -> "ModelProfile":
        """What is known of that model there; a new row where it is nothing."""
        key = {"endpoint": endpoint.name, "address": _digest(endpoint), "model": model}
        return self.filter(**key).first() or ModelProfile(**key)

    def keep(self, endpoint: Endpoint, model: str, profile: Profile, refusal: str) -> None:
        """Ask the model so from now on, because of this refusal."""
        words = refusal[:500]
        others = [each for each in self.of(endpoint, model).refusals if each != words]
        self.note(endpoint, model, profile=profile.stored, refusals=[*others, words])

    def note(self, endpoint: Endpoint, model: str, **changes: Any) -> None:
        """Write these fields of what is known of the model there."""
        address = _digest(endpoint)
        self.update_or_create(changes, endpoint=endpoint.name, address=address, model=model)


class ModelProfile(models.Model):
    """How one model at one endpoint is asked, as its refusals taught, and its last trial.

    The address is kept as a digest: another one under the same name is another endpoint.
    """

    endpoint = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    profile = models.JSONField(default=dict)
    # The endpoint's words, in order.
    refusals = models.JSONField(default=list)
    tried_at = models.DateTimeField(null=True)
    # Of the last trial: seconds to its answer, or why there was none.
    latency_s = models.FloatField(null=True)
    fault = models.TextField(blank=True)

    objects = ModelProfileQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "address", "model"], name="model_profile_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} at {self.endpoint}"

    def told(self, endpoint: Endpoint) -> tuple[str, tuple[str, ...]]:
        """How the model is asked in words, as learnt or taken for granted, and the refusals that
        taught it."""
        known_as = known(self.model, api=endpoint.api)
        asked = Profile.read(self.profile) if self.profile else known_as
        return asked.words, tuple(without_secrets(each, endpoint) for each in self.refusals)


def _digest(endpoint: Endpoint) -> str:
    return hashlib.sha256(f"{endpoint.base_url} {endpoint.api_version}".encode()).hexdigest()
