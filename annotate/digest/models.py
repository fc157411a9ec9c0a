"""Who wants to be told by mail what waits for them."""

from django.conf import settings
from django.db import models


class Digest(models.Model):
    """A mail every so many days; there is no row of who wants none."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="digest"
    )
    days = models.PositiveSmallIntegerField()
    # Where they chose it ("https://assay.example"), for the links in the mail.
    site = models.CharField(max_length=300)
    # The day of the last look, whether something waited or not; first the day of the choice.
    sent_on = models.DateField()

    def __str__(self) -> str:
        return f"digest of user {self.user_id} every {self.days} days"
