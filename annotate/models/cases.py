"""Cases that people decide, and their votes (DREAM, protocol.md 2.4)."""

from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from corpus.models import Benchmark, Judgment, Passage, Query


class CaseKind(models.TextChoices):
    """Why a pair came before people."""

    DISPUTE = "dispute"
    UNREADABLE = "unreadable"
    HUMAN_ONLY = "human_only"
    # An agreed pair, judged from the passage alone: nothing that voters see tells it apart.
    AUDIT = "audit"


class CaseStatus(models.TextChoices):
    """open -> closed by majority, or -> expert when abstentions leave none (protocol.md 2.4).

    An expert's verdict on the pair closes a case in either state; taken back, it reopens it.
    """

    OPEN = "open"
    CLOSED = "closed"
    EXPERT = "expert"


class CaseQuerySet(models.QuerySet["EscalationCase"]):
    """Vocabulary for reading cases."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every case of the benchmark."""
        return self.filter(query__domain__benchmark=benchmark)

    def open(self) -> Self:
        """Cases that still need votes."""
        return self.filter(status=CaseStatus.OPEN)

    def awaiting(self, voter: User, domain_ids: set[int]) -> Self:
        """Open cases of these domains on which this person has no standing vote."""
        voted = Vote.objects.standing().filter(voter=voter).values("case_id")
        return self.open().filter(query__domain_id__in=domain_ids).exclude(pk__in=voted)


class EscalationCase(models.Model):
    """One (query, passage) pair before people, with a frozen snapshot of both positions.

    Voters see the snapshot and nothing else: debates can be rerun without touching votes.
    `origin` names what opened the case ("debate:12") and makes opening it twice harmless.
    """

    origin = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=12, choices=CaseKind.choices, default=CaseKind.DISPUTE)
    status = models.CharField(max_length=8, choices=CaseStatus.choices, default=CaseStatus.OPEN)
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="cases")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="cases")
    snapshot = models.JSONField(default=dict)
    # Standing votes so far; counted in the same UPDATE that takes a vote's slot.
    votes_in = models.PositiveSmallIntegerField(default=0)
    # What closed it: the majority's label and judgment, or an expert's.
    label = models.SmallIntegerField(null=True)
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    objects = CaseQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["status", "query"])]
        constraints = [
            models.UniqueConstraint(fields=["query", "passage"], name="one_case_a_pair"),
        ]

    def __str__(self) -> str:
        return f"case {self.pk} ({self.origin})"


class VoteStatus(models.TextChoices):
    """Only standing votes count; the others are history."""

    STANDING = "standing"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"


class VoteQuerySet(models.QuerySet["Vote"]):
    """Vocabulary for reading votes."""

    def standing(self) -> Self:
        """Votes that count now."""
        return self.filter(status=VoteStatus.STANDING)


class Vote(models.Model):
    """One person's judgment of one case; label null means it cannot be judged, with a reason."""

    case = models.ForeignKey(EscalationCase, on_delete=models.PROTECT, related_name="votes")
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="votes"
    )
    label = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True, default="")
    status = models.CharField(
        max_length=10, choices=VoteStatus.choices, default=VoteStatus.STANDING
    )
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    elapsed_ms = models.PositiveIntegerField(null=True)
    # The version of the guidelines that it was given by; 0: the house's own.
    guideline = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VoteQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["case", "voter"],
                condition=Q(status=VoteStatus.STANDING),
                name="one_standing_vote",
            ),
            models.CheckConstraint(
                condition=Q(label__isnull=True) | Q(label__in=(0, 1)), name="vote_is_binary"
            ),
        ]

    def __str__(self) -> str:
        return f"vote of {self.voter_id} on case {self.case_id}"
