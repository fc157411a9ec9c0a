"""Records that know no domain: what happened, one-time sign-in links, and groups of runs."""

from django.conf import settings
from django.db import models

from kit.runs.models import RunGroup as RunGroup


class Event(models.Model):
    """Who did what to what: append-only, written in the transaction of the change itself."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )  # null: the machine did it
    verb = models.CharField(max_length=60)
    target_type = models.CharField(max_length=60)
    target_id = models.CharField(max_length=60)
    scope = models.CharField(max_length=100, db_index=True)  # the benchmark's slug, or ""
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["target_type", "target_id"])]

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


class SignInLink(models.Model):
    """A link that signs one person in once; only the hash of its token is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link {self.pk} of user {self.user_id}"
