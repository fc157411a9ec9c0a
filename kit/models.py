"""Records that know no domain: what happened, how people sign in, workers, groups of runs."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kit.runs.models import RunGroup as RunGroup
from kit.runs.quotas import Quota as Quota
from kit.runs.workers import Worker as Worker


class EventQuerySet(models.QuerySet["Event"]):
    """Events."""

    def of(self, scope: str) -> Self:
        """Those of a scope and of its parts: `slug#votes` is one of the benchmark `slug`."""
        return self.filter(Q(scope=scope) | Q(scope__startswith=f"{scope}#"))


class Event(models.Model):
    """Who did what to what: append-only, written in the transaction of the change itself.

    Reads of what is hidden from others are events as well, without a change.
    """

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )  # null: the machine did it
    verb = models.CharField(max_length=60)
    target_type = models.CharField(max_length=60)
    target_id = models.CharField(max_length=60)
    # The benchmark's slug, `slug#part` for what is judged blind, or "" for the site.
    scope = models.CharField(max_length=100, db_index=True)
    data = models.JSONField(default=dict)
    # The sign-in link with which the actor's session began, where somebody else had made it.
    link = models.ForeignKey(
        "SignInLink", null=True, on_delete=models.PROTECT, related_name="events", db_index=False
    )
    # Null: a change. Else it changed nothing, and stands here once under this hash
    # (audit.record_once).
    once = models.CharField(max_length=64, null=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["once"], condition=Q(once__isnull=False), name="event_once"
            )
        ]
        indexes = [
            models.Index(fields=["target_type", "target_id"]),
            # Few are.
            models.Index(
                fields=["link", "scope"], condition=Q(link__isnull=False), name="event_by_link"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.target_type} {self.target_id}"

    def save(self, *args: object, **kwargs: object) -> None:
        """Refuse to write over what is recorded."""
        if self.pk is not None:
            raise TypeError("Events are append-only.")
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        """Refuse: events are kept."""
        raise TypeError("Events are append-only.")


class SignInLinkQuerySet(models.QuerySet["SignInLink"]):
    """Vocabulary for reading links."""

    def unconfirmed(self) -> Self:
        """Links by others behind which decisions stand that the person has not called theirs."""
        return self.filter(is_theirs=None, events__isnull=False).distinct()


class SignInLink(models.Model):
    """A link that signs one person in once; only the hash of its token is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # Who made it for somebody else (null: the terminal, or for a mail), and when the person was
    # told that it was used.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    told_at = models.DateTimeField(null=True)
    # Whether the password that the person has was chosen in a session that began with it: its
    # maker may know that password.
    chose_password = models.BooleanField(default=False, db_default=False)
    # Whether what was decided in sessions that began with it is the person's own, as they said
    # when they were in by means of their own; null: not yet.
    is_theirs = models.BooleanField(null=True)
    answered_at = models.DateTimeField(null=True)

    objects = SignInLinkQuerySet.as_manager()

    def __str__(self) -> str:
        return f"sign-in link {self.pk} of user {self.user_id}"


class LinkRequest(models.Model):
    """A person who cannot sign in and asked for a one-time link; gone once they have one."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="link_request"
    )
    asked_at = models.DateTimeField()
    # Where they asked ("https://assay.example"), for the link in the mail.
    site = models.CharField(max_length=300)
    mailed_at = models.DateTimeField(null=True)
    # The first of the two admins whom a link for somebody with decisions takes.
    agreed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    agreed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["asked_at"]

    def __str__(self) -> str:
        return f"link request of user {self.user_id}"


class ProviderIdentity(models.Model):
    """Who a person is to the identity provider: `subject` is its own name for them, and stays."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identity"
    )
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_an_identity")
        ]

    def __str__(self) -> str:
        return f"identity {self.pk} of user {self.user_id}"


class SecondFactor(models.Model):
    """What a person shows beside their password: the code of an app whose secret follows from
    `salt` and SEED_KEY (kit/account/factor.py), or a recovery code."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor"
    )
    salt = models.CharField(max_length=32)
    # The time step of the last code that let the person in: none so early does so again.
    last_step = models.BigIntegerField()
    # Hashes of the recovery codes that are left.
    codes = models.JSONField(default=list)
    set_up_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"second factor of user {self.user_id}"


class Tries(models.Model):
    """How often something was tried by one person or address in the time that is running."""

    key = models.CharField(max_length=100, unique=True)
    count = models.PositiveIntegerField(default=0)
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.count} tries of {self.key}"


class Scope(models.TextChoices):
    """What an API token may do of what its person may do; each may do what stands above it."""

    READ = "read", "Read"
    ANNOTATE = "annotate", "Annotate"
    ADMIN = "admin", "Everything I may do"


class ApiToken(models.Model):
    """A token for scripts; only its hash is kept."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    scope = models.CharField(max_length=8, choices=Scope.choices)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    # Null: made by processes of a version in which tokens had no end.
    expires_at = models.DateTimeField(null=True)
    # As `Event.link`, of the session in which it was made.
    link = models.ForeignKey(SignInLink, null=True, on_delete=models.PROTECT, related_name="tokens")
    # To the day: what is asked with every request is written once a day.
    used_on = models.DateField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"API token {self.name!r} of user {self.user_id}"

    @property
    def is_over(self) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= timezone.now()
