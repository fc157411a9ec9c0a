"""The places of a case: how many votes it may get, and who is giving them now.

Every place is a row, so that the database itself keeps the quota: a case has as many rows as it
wants votes, each row belongs to one person at a time, and no person has two rows of one case.
"""

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce

from annotate.services.majority import CAP
from corpus.models import Benchmark


class VoteSlotQuerySet(models.QuerySet["VoteSlot"]):
    """Vocabulary for reading and taking places."""

    def free(self, now: datetime) -> Self:
        """Places that nobody holds: never taken, or the lease is over and nothing was said.

        A first judgment that was given already is not taken away by time.
        """
        lapsed = Q(expires_at__lt=now, committed_at=None)
        return self.filter(Q(voter=None) | lapsed, vote=None)

    def held_by(self, voter_id: int) -> Self:
        """Places that the person took and has not filled."""
        return self.filter(voter=voter_id, vote=None)

    def after(self, turn: int) -> Self:
        """Places behind this one in the queue."""
        return self.filter(turn__gt=turn)

    def after_last_of(self, voter_id: int, benchmark: int) -> Self:
        """Places behind the last that the person filled."""
        mine = VoteSlot.objects.filter(voter=voter_id, benchmark=benchmark).exclude(vote=None)
        last = mine.order_by("-turn").values("turn")[:1]
        return self.filter(turn__gt=Coalesce(models.Subquery(last), Value(-1)))

    def give_back(self) -> int:
        """Empty these places, whatever was in them; how many there were."""
        return self.update(
            voter=None,
            expires_at=None,
            vote=None,
            batch=None,
            arm="",
            committed_at=None,
            first_label=None,
            first_ms=None,
        )


class VoteSlot(models.Model):
    """One place of a case: free, held under a lease, holding a first judgment, or filled."""

    case = models.ForeignKey("EscalationCase", on_delete=models.CASCADE, related_name="slots")
    place = models.PositiveSmallIntegerField()
    # Where the case stands in everybody's queue: by chance, one query after the other.
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+")
    turn = models.BigIntegerField()
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    expires_at = models.DateTimeField(null=True)
    batch = models.ForeignKey("Batch", null=True, on_delete=models.PROTECT, related_name="slots")
    vote = models.OneToOneField("Vote", null=True, on_delete=models.PROTECT, related_name="slot")
    # How the positions are shown to this voter (ARMS), and what was said before they were.
    arm = models.CharField(max_length=5, blank=True, default="")
    committed_at = models.DateTimeField(null=True)
    first_label = models.SmallIntegerField(null=True)
    first_ms = models.PositiveIntegerField(null=True)

    objects = VoteSlotQuerySet.as_manager()

    class Meta:
        ordering = ["case", "place"]
        indexes = [
            models.Index(
                fields=["benchmark", "turn"], condition=Q(vote=None), name="slots_to_fill"
            ),
            models.Index(
                fields=["voter", "benchmark", "turn"],
                condition=Q(voter__isnull=False),
                name="slots_of_voter",
            ),
            models.Index(
                fields=["voter"], condition=Q(voter__isnull=False, vote=None), name="slots_held"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["case", "place"], name="one_slot_a_place"),
            models.UniqueConstraint(fields=["case", "voter"], name="one_slot_a_voter"),
            models.CheckConstraint(
                condition=Q(place__gte=1, place__lte=CAP), name="slot_within_cap"
            ),
            models.CheckConstraint(
                condition=Q(vote=None) | Q(voter__isnull=False), name="filled_slot_has_voter"
            ),
        ]

    def __str__(self) -> str:
        return f"place {self.place} of case {self.case_id}"

    @property
    def is_committed(self) -> bool:
        """Whether the first judgment was given, so that the positions may be seen."""
        return self.committed_at is not None
