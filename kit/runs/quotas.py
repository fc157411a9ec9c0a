"""What all work of one scope, a benchmark, may use together, and whom it goes before."""

from django.db import models

from kit.runs.turns import Priority


class Quota(models.Model):
    """What all work of one scope, a benchmark, may use together; null is no limit.

    Bytes of pages and imported files, calls to models (each attempt is one), USD for them in all
    and in a month of UTC, and calls in flight at once, whichever runs and workers make them.
    """

    scope = models.CharField(max_length=100, unique=True)
    bytes = models.BigIntegerField(null=True)
    calls = models.BigIntegerField(null=True)
    usd = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    usd_month = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    in_flight = models.PositiveIntegerField(null=True)
    # Of its runs of every kind about which nobody said anything; null: each by its size.
    priority = models.PositiveSmallIntegerField(null=True, choices=Priority.choices)
    # The month that is reckoned with, and what the accounts held when it began (llm/ledger).
    month = models.DateField(null=True)
    units_before = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"quota of {self.scope}"

    @property
    def limits_calls(self) -> bool:
        """Whether runs that ask models have to look at it."""
        limits = self.calls, self.usd, self.usd_month, self.in_flight
        return any(each is not None for each in limits)


def priorities() -> dict[str, int]:
    """The priority of every scope that has one."""
    rows = Quota.objects.exclude(priority=None).values_list("scope", "priority")
    return {scope: priority for scope, priority in rows if priority}
