"""Cases that people decide, and their votes (DREAM, docs/protocol.md 2.4)."""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotate.models.batches import Batch
from annotate.models.slots import VoteSlot
from annotate.queue import turn_of
from annotate.services.majority import QUOTA
from corpus.models import Benchmark, Judgment, Passage, Query


class CaseKind(models.TextChoices):
    """Why a pair came before people."""

    DISPUTE = "dispute"
    UNREADABLE = "unreadable"
    HUMAN_ONLY = "human_only"
    # An agreed pair, judged from the passage alone: nothing that voters see tells it apart.
    AUDIT = "audit"
    # Drawn for a panel of experts (models/panels.py): never among what voters are asked.
    REFERENCE = "reference"


class CaseStatus(models.TextChoices):
    """open -> closed by majority, or -> expert when abstentions leave none (docs/protocol.md 2.4).

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

    def of_voters(self) -> Self:
        """Cases that voters are asked about: not those of a panel."""
        return self.exclude(kind=CaseKind.REFERENCE)


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
            # Voters are asked about a pair once, a panel once as well, whatever the others do.
            models.UniqueConstraint(
                fields=["query", "passage"],
                condition=~Q(kind=CaseKind.REFERENCE),
                name="one_case_a_pair",
            ),
            models.UniqueConstraint(
                fields=["query", "passage"],
                condition=Q(kind=CaseKind.REFERENCE),
                name="one_reference_a_pair",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.pk} ({self.origin})"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new case comes with its places: without them nobody could vote on it."""
        is_new = self._state.adding
        super().save(*args, **kwargs)
        if is_new:
            VoteSlot.objects.bulk_create(self.new_slots())

    def new_slots(self) -> list[VoteSlot]:
        """The unsaved places of a saved case that nobody has voted on."""
        return [self.new_slot(place) for place in range(1, QUOTA + 1)]

    def new_slot(self, place: int) -> VoteSlot:
        """One more unsaved place."""
        benchmark, turn = self.query.domain.benchmark_id, turn_of(self.query_id, self.pk)
        return VoteSlot(case=self, place=place, benchmark_id=benchmark, turn=turn)


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
    # How the positions were shown (ARMS; empty: before there were arms), whether they were seen
    # before the vote was final, and what the person said without them.
    arm = models.CharField(max_length=5, blank=True, default="")
    saw_positions = models.BooleanField(default=False)
    first_label = models.SmallIntegerField(null=True)
    first_ms = models.PositiveIntegerField(null=True)
    # The first judgment, made to count because its giver never came back.
    abandoned = models.BooleanField(default=False, db_default=False)
    # The words of the passage that support "relevant": code points [start, end).
    span_start = models.PositiveIntegerField(null=True)
    span_end = models.PositiveIntegerField(null=True)
    batch = models.ForeignKey(Batch, null=True, on_delete=models.PROTECT, related_name="votes")
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
            models.CheckConstraint(
                condition=Q(span_start=None, span_end=None)
                | Q(span_end__gt=models.F("span_start")),
                name="vote_span_has_words",
            ),
        ]

    def __str__(self) -> str:
        return f"vote of {self.voter_id} on case {self.case_id}"
