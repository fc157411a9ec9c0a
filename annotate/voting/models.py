"""Cases that people decide, their vote slots and votes (docs/protocol.md 2.4).

Every vote slot is a row, so that the database itself keeps the quota: a case has as many slots as
it needs votes, each belongs to one person at a time, and no person has two of one case.
"""

import json
import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, Self

from django.conf import settings
from django.db import models
from django.db.models import Case, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac

from annotate.keyed import turn_of
from annotate.support.models import SupportLabel
from annotate.voting.majority import CAP, QUOTA
from annotate.workspace.models import Aspect
from corpus.models import Benchmark, Judgment, Passage, Query, Source
from kit.database.migrating import RandomUUID
from kit.versioned import by_person


class VoteSlotQuerySet(models.QuerySet["VoteSlot"]):
    """Vocabulary for reading and taking vote slots."""

    def free(self, now: datetime) -> Self:
        """Slots that nobody has: never taken, or the lease is over and nothing was said.

        A first judgment that was given already is not taken away by time.
        """
        lapsed = Q(expires_at__lt=now, committed_at=None)
        return self.filter(Q(voter=None) | lapsed, vote=None)

    def held_by(self, voter_id: int) -> Self:
        """Slots that the person took and has not filled."""
        return self.filter(voter=voter_id, vote=None)

    def after(self, turn: int) -> Self:
        """Slots behind this one in the queue."""
        return self.filter(turn__gt=turn)

    def after_last_of(self, voter_id: int, benchmark: int) -> Self:
        """Slots behind the last that the person filled."""
        mine = VoteSlot.objects.filter(voter=voter_id, benchmark=benchmark).exclude(vote=None)
        last = mine.order_by("-turn").values("turn")[:1]
        return self.filter(turn__gt=Coalesce(Subquery(last), Value(-1)))

    def give_back(self) -> int:
        """Empty these slots, whatever was in them; how many there were."""
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
    """One vote that a case needs: free, taken under a lease, with a first judgment, or filled."""

    case = models.ForeignKey("EscalationCase", on_delete=models.CASCADE, related_name="slots")
    place = models.PositiveSmallIntegerField()
    # The position of the case in everybody's queue: random, one query after the other.
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+")
    turn = models.BigIntegerField()
    voter = by_person(null=True)
    expires_at = models.DateTimeField(null=True)
    batch = models.ForeignKey("Batch", null=True, on_delete=models.PROTECT, related_name="slots")
    vote = models.OneToOneField("Vote", null=True, on_delete=models.PROTECT, related_name="slot")
    # How the positions are shown to this voter (CONDITIONS), and what was said before they were.
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


class CaseKind(models.TextChoices):
    """Why a pair came before people."""

    DISPUTE = "dispute"
    UNREADABLE = "unreadable"
    HUMAN_ONLY = "human_only"
    # An agreed pair, judged from the passage alone: nothing that voters see shows that it is one.
    AUDIT = "audit"
    # Drawn for a panel of experts (annotate/panels): never among what voters are asked.
    REFERENCE = "reference"


class CaseStatus(models.TextChoices):
    """open -> closed by majority, or -> expert when abstentions leave none (docs/protocol.md 2.4).

    An expert's verdict on the pair closes a case in either state; undone, it reopens it.
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

    def about_pairs(self) -> Self:
        """Cases that ask whether a passage is relevant; none of those about an aspect."""
        return self.filter(aspect=None)

    def about(self, query: Query, passage: Passage, aspect: Aspect | None) -> Self:
        """Voters' cases of the pair, or of the passage and that aspect."""
        return self.of_voters().filter(query=query, passage=passage, aspect=aspect)


class EscalationCase(models.Model):
    """One (query, passage) pair before people, with a frozen snapshot of both positions.

    With an `aspect` the question is whether the passage supports that aspect of the query: what
    closes it is a label of support then, and `judgment` stays empty.

    Voters see the snapshot and nothing else: debates can be rerun without touching votes.
    `origin` names what opened the case ("debate:12") and makes opening it twice harmless.
    """

    # Its name in addresses, the API and what voters read: drawn by chance, because keys would tell
    # which cases were opened together, and so for what.
    public_id = models.UUIDField(
        default=uuid.uuid4, db_default=RandomUUID(), unique=True, editable=False
    )
    origin = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=12, choices=CaseKind.choices, default=CaseKind.DISPUTE)
    status = models.CharField(max_length=8, choices=CaseStatus.choices, default=CaseStatus.OPEN)
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="cases")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="cases")
    aspect = models.ForeignKey(Aspect, null=True, on_delete=models.PROTECT, related_name="cases")
    snapshot = models.JSONField(default=dict)
    # Standing votes so far; counted in the same UPDATE that takes a vote's slot.
    votes_in = models.PositiveSmallIntegerField(default=0)
    # What closed it: the majority's label and judgment, or an expert's.
    label = models.SmallIntegerField(null=True)
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    support = models.ForeignKey(SupportLabel, null=True, on_delete=models.PROTECT, related_name="+")
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
                condition=~Q(kind=CaseKind.REFERENCE) & Q(aspect=None),
                name="one_case_a_pair",
            ),
            models.UniqueConstraint(
                fields=["aspect", "passage"],
                condition=Q(aspect__isnull=False),
                name="one_case_a_support",
            ),
            models.CheckConstraint(
                condition=Q(aspect=None, support=None) | Q(judgment=None),
                name="case_asks_one_thing",
            ),
            models.UniqueConstraint(
                fields=["query", "passage"],
                condition=Q(kind=CaseKind.REFERENCE),
                name="one_reference_a_pair",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.pk} ({self.origin})"

    @property
    def asked_version(self) -> int | None:
        """The version of the aspect's text that people read in the case; 0: an earlier one."""
        if self.aspect is None:
            return None
        return self.aspect.version if self.snapshot.get("aspect") == self.aspect.content else 0

    @property
    def decided_by(self) -> str:
        """The source of the label that closed it; "" where none did."""
        label = self.support if self.aspect_id else self.judgment
        return label.source if label else ""

    @property
    def name(self) -> str:
        """How people read its public id."""
        return self.public_id.hex[:8]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new case comes with its vote slots: without them nobody could vote on it."""
        is_new = self._state.adding
        super().save(*args, **kwargs)
        if is_new:
            VoteSlot.objects.bulk_create(self.new_slots())

    def new_slots(self) -> list[VoteSlot]:
        """The unsaved vote slots of a saved case that nobody has voted on."""
        return [self.new_slot(place) for place in range(1, QUOTA + 1)]

    def new_slot(self, place: int) -> VoteSlot:
        """One more unsaved vote slot."""
        benchmark, turn = self.query.domain.benchmark_id, turn_of(self.query_id, self.pk)
        return VoteSlot(case=self, place=place, benchmark_id=benchmark, turn=turn)


class VoteStatus(models.TextChoices):
    """Only standing votes count; the others are history."""

    STANDING = "standing"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"


# What of a vote is never changed. Its status is, and `abandoned`, which is noted once it stands.
CHAINED: Final = (
    *("case_id", "voter_id", "label", "reason", "elapsed_ms", "arm", "saw_positions"),
    *("first_label", "first_ms", "span_start", "span_end", "batch_id", "guideline"),
)


class VoteQuerySet(models.QuerySet["Vote"]):
    """Vocabulary for reading votes."""

    def links(self) -> models.QuerySet["Vote", str]:
        """The links of these votes, the newest first."""
        return self.order_by("-pk").values_list("link", flat=True)

    def standing(self) -> Self:
        """Votes that count now."""
        return self.filter(status=VoteStatus.STANDING)

    def of_voters(self, benchmark: Benchmark) -> Self:
        """Votes that count now on cases of the benchmark; not experts' labels for a panel."""
        votes = self.standing().filter(case__query__domain__benchmark=benchmark)
        return votes.exclude(case__kind=CaseKind.REFERENCE)

    def with_expert(self) -> Self:
        """Each with `expert`, an expert's current label of what it is about, or None."""
        pair = {"query": OuterRef("case__query"), "passage": OuterRef("case__passage")}
        labels = Judgment.objects.standing().filter(source=Source.EXPERT, **pair)
        pair = {"aspect": OuterRef("case__aspect"), "passage": OuterRef("case__passage")}
        support = SupportLabel.objects.standing().filter(source=Source.EXPERT, **pair)
        return self.annotate(
            expert=Case(
                When(case__aspect=None, then=Subquery(labels.values("label")[:1])),
                default=Subquery(support.values("label")[:1]),
            )
        )


class Vote(models.Model):
    """One person's judgment of one case; label null means it cannot be judged, with a reason.

    The votes of a case, also those taken back or replaced, are a chain: each has a `link` made
    from that of the vote before it and from what was said, under the server's secret key. Who
    changes a vote in the database alone cannot make the links anew (altered_cases).
    """

    case = models.ForeignKey(EscalationCase, on_delete=models.PROTECT, related_name="votes")
    voter = by_person("votes")
    label = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True, default="")
    status = models.CharField(
        max_length=10, choices=VoteStatus.choices, default=VoteStatus.STANDING
    )
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    elapsed_ms = models.PositiveIntegerField(null=True)
    # How the positions were shown (CONDITIONS; empty: in old votes), whether they were seen before
    # the vote was final, and what the person judged without them.
    arm = models.CharField(max_length=5, blank=True, default="")
    saw_positions = models.BooleanField(default=False)
    first_label = models.SmallIntegerField(null=True)
    first_ms = models.PositiveIntegerField(null=True)
    # The first judgment, made to count because its giver never came back.
    abandoned = models.BooleanField(default=False, db_default=False)
    # The words of the passage that support "relevant": code points [start, end).
    span_start = models.PositiveIntegerField(null=True)
    span_end = models.PositiveIntegerField(null=True)
    batch = models.ForeignKey("Batch", null=True, on_delete=models.PROTECT, related_name="votes")
    # The version of the guidelines that it was given by; 0: the default.
    guideline = models.PositiveIntegerField(default=0)
    link = models.CharField(max_length=64, default="", db_default="", editable=False)
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

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new vote comes with its link; `fill` knows the vote before it, others ask."""
        if self._state.adding and not self.link:
            self.link = self.link_after(Vote.objects.filter(case=self.case_id).links().first())
        super().save(*args, **kwargs)

    def link_after(self, earlier: str | None, secret: str = "") -> str:
        """HMAC-SHA256 in hex of the earlier vote's link and of what this vote says."""
        values = (getattr(self, name) for name in CHAINED)
        # A caller's True is a 1 when it is read again.
        said = [earlier or "", *(int(v) if isinstance(v, bool) else v for v in values)]
        return salted_hmac(
            "annotate.Vote",
            json.dumps(said),
            secret=secret or settings.SEED_KEY,
            algorithm="sha256",
        ).hexdigest()


def altered_cases(votes: Iterable[Vote]) -> list[int]:
    """The cases with a vote that is not as it was cast, or that follows one that is gone.

    `votes` are all of these cases, by case and key. That the newest vote of a case is gone does
    not show in the links; its label names it.
    """
    secrets = [settings.SEED_KEY, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    ends: dict[int, str] = {}
    altered: dict[int, None] = {}
    for vote in votes:
        earlier = ends.get(vote.case_id)
        if all(vote.link != vote.link_after(earlier, each) for each in secrets):
            altered[vote.case_id] = None
        ends[vote.case_id] = vote.link
    return list(altered)
