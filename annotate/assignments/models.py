"""Who works on which query, how far it is, and how long it took (docs/protocol.md 3.1)."""

from datetime import date
from typing import Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Sum

from corpus.models import Benchmark, Query
from kit.versioned import by_person


class WorkState(models.TextChoices):
    """How far the work on a query is.

    The five first steps of docs/protocol.md 3.1 (aspects, weights, audit, collecting, refining) are
    one state, because experts go back and forth between them; the checklist says which is open.
    """

    NOT_STARTED = "not_started", "Not started"
    IN_PROGRESS = "in_progress", "In progress"
    SUBMITTED = "submitted", "Submitted"
    IN_REVIEW = "in_review", "In second review"
    CHANGES_REQUESTED = "changes_requested", "Changes requested"
    ACCEPTED = "accepted", "Accepted"
    ANSWERED = "answered", "Reference answer written"


# Every legal move, from -> to; made by `AssignmentQuerySet.move` alone.
MOVES: dict[str, frozenset[str]] = {
    WorkState.NOT_STARTED: frozenset({WorkState.IN_PROGRESS}),
    WorkState.IN_PROGRESS: frozenset({WorkState.SUBMITTED}),
    WorkState.SUBMITTED: frozenset({WorkState.IN_PROGRESS, WorkState.IN_REVIEW}),
    WorkState.IN_REVIEW: frozenset(
        {WorkState.SUBMITTED, WorkState.CHANGES_REQUESTED, WorkState.ACCEPTED}
    ),
    # Straight back to the reviewer whose points were answered, or submitted anew.
    WorkState.CHANGES_REQUESTED: frozenset({WorkState.SUBMITTED, WorkState.IN_REVIEW}),
    WorkState.ACCEPTED: frozenset({WorkState.IN_REVIEW, WorkState.ANSWERED}),
    WorkState.ANSWERED: frozenset({WorkState.IN_REVIEW, WorkState.ACCEPTED}),
}
# In these the assignee writes; in every other the query is read-only.
WRITABLE = (WorkState.NOT_STARTED, WorkState.IN_PROGRESS, WorkState.CHANGES_REQUESTED)
# The author's part is over.
HANDED_IN = (WorkState.SUBMITTED, WorkState.IN_REVIEW, WorkState.ACCEPTED, WorkState.ANSWERED)


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    """Vocabulary for reading assignments, and the one way to move them."""

    def standing(self) -> Self:
        """Assignments that count now."""
        return self.filter(ended_at=None)

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Standing assignments of the benchmark's ready domains."""
        domains = {"query__domain__benchmark": benchmark, "query__domain__is_ready": True}
        return self.standing().filter(**domains)

    def open(self) -> Self:
        """Those that still wait for their assignee."""
        return self.filter(state__in=WRITABLE)

    def overdue(self, today: date) -> Self:
        """Open ones whose day has passed."""
        return self.open().filter(due_on__lt=today)

    def in_turn(self) -> Self:
        """What to do first: changes that were asked for, then by due date, then as given."""
        changes = models.Case(models.When(state=WorkState.CHANGES_REQUESTED, then=0), default=1)
        return self.order_by(changes, F("due_on").asc(nulls_last=True), "query_id")

    def move(self, pk: int, to: str, **fields: object) -> bool:
        """Move one standing assignment if its present state allows it; False otherwise."""
        sources = [state for state, targets in MOVES.items() if to in targets]
        rows = self.standing().filter(pk=pk, state__in=sources)
        return bool(rows.update(state=to, **fields))


class Assignment(models.Model):
    """One person works on one query. Ended, never deleted: a reassigned query gets a new row."""

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="assignments")
    holder = by_person("assignments")
    # Who gave it; null: the assignee claimed it.
    assigned_by = by_person(null=True)
    state = models.CharField(
        max_length=20, choices=WorkState.choices, default=WorkState.NOT_STARTED
    )
    due_on = models.DateField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    # The first and the last time it was submitted.
    first_submitted_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["query"], condition=Q(ended_at=None), name="one_holder_a_query"
            ),
        ]
        indexes = [models.Index(fields=["holder", "state"])]

    def __str__(self) -> str:
        return f"{self.query_id} assigned to {self.holder_id}"

    @property
    def is_writable(self) -> bool:
        """Whether its assignee may write in the query now."""
        return self.ended_at is None and self.state in WRITABLE

    @property
    def state_words(self) -> str:
        """The state as people read it, in lower case."""
        return WorkState(self.state).label.lower()


def unassigned(queries: models.QuerySet[Query]) -> models.QuerySet[Query]:
    """Those of the queries that nobody works on."""
    assigned = Assignment.objects.standing().filter(query=OuterRef("pk"))
    return queries.exclude(Exists(assigned))


class ActiveSpanQuerySet(models.QuerySet["ActiveSpan"]):
    """Vocabulary for reading time on task."""

    def seconds(self) -> float:
        """The sum of these spans; they never overlap for one person."""
        total = self.aggregate(
            total=Sum(F("end") - F("start"), output_field=models.DurationField())
        )["total"]
        return total.total_seconds() if total else 0.0


class ActiveSpan(models.Model):
    """A span of time in which one person was at work on one query.

    A person's spans never overlap, whatever the number of tabs: an hour is an hour.
    """

    user = by_person("active_spans")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="active_spans")
    start = models.DateTimeField()
    end = models.DateTimeField()

    objects = ActiveSpanQuerySet.as_manager()

    class Meta:
        ordering = ["start"]
        indexes = [
            models.Index(fields=["user", "end"]),
            models.Index(fields=["query", "user"]),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="span_is_ordered"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.query_id}"
