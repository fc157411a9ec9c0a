"""What a person has typed and not sent yet."""

from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models


class DraftQuerySet(models.QuerySet["Draft"]):
    """Vocabulary for reading drafts; always of one person."""

    def of(self, person: User) -> Self:
        """This person's own; nobody sees another's."""
        return self.filter(user=person)

    def at(self, place: str) -> Self:
        """Drafts of the fields of one form, named by the address it is sent to."""
        return self.filter(place=place)


class Draft(models.Model):
    """The text of one field, kept while it is being written. Private to the person.

    `place` is the address that the form is sent to, `name` the field's data-draft name; `page` is
    where it was typed, to lead back to. `version` counts the writes, for two tabs at one field.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts"
    )
    place = models.CharField(max_length=300)
    name = models.CharField(max_length=100)
    page = models.CharField(max_length=300, blank=True, default="")
    text = models.TextField()
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField()

    objects = DraftQuerySet.as_manager()

    class Meta:
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(fields=["user", "place", "name"], name="one_draft_a_field"),
        ]
        indexes = [models.Index(fields=["updated_at"])]

    def __str__(self) -> str:
        return f"draft of {self.user_id}: {self.name}"
