"""Who may vote: exam per domain, approval elsewhere, rechecks (docs/protocol.md 2.4)."""

from itertools import pairwise
from statistics import median
from typing import Self

from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from corpus.models import Benchmark, Domain, Passage, Query
from kit.versioned import Versioned, by_person

_PERCENT = [MinValueValidator(0), MaxValueValidator(100)]


class QualificationRule(Versioned):
    """What a benchmark asks of people before they vote; a benchmark without a row asks nothing."""

    benchmark = models.OneToOneField(
        Benchmark, on_delete=models.PROTECT, related_name="qualification_rule"
    )
    required = models.BooleanField(default=False)
    # Percent of an exam's items; exactly this many pass.
    pass_mark = models.PositiveSmallIntegerField(default=90, validators=_PERCENT)
    exam_size = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])
    # Approval elsewhere: strictly above the rate, at least so many approved.
    needs_approval = models.BooleanField(default=False)
    approval_above = models.PositiveSmallIntegerField(default=90, validators=_PERCENT)
    approved_least = models.PositiveIntegerField(default=500)
    # A new exam is due where fewer of the last checks were right (percent, number of checks).
    recheck_below = models.PositiveSmallIntegerField(default=80, validators=_PERCENT)
    recheck_window = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])

    def __str__(self) -> str:
        return f"qualification for {self.benchmark}"


class Basis(models.TextChoices):
    """Where the right answer of an exam item comes from."""

    GOLD = "gold", "imported gold"
    UNRELATED = "unrelated", "gold of another query"
    ADMIN = "admin", "an admin"


class ExamItemQuerySet(models.QuerySet["ExamItem"]):
    """Vocabulary for reading the bank."""

    def usable(self, domain: Domain) -> Self:
        """What an exam or a practice in this domain may draw from."""
        return self.filter(domain=domain, retired_at=None)


class ExamItem(models.Model):
    """One question of the bank with its right answer, frozen. Retired, never deleted.

    `positions` has the shape of a case's snapshot (voting/snapshot.py); empty: none is shown.
    """

    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="exam_items")
    question = models.TextField()
    answers = models.JSONField(default=list)
    passage = models.TextField()
    positions = models.JSONField(default=list)
    label = models.SmallIntegerField()
    basis = models.CharField(max_length=10, choices=Basis.choices, default=Basis.ADMIN)
    # Why it is so: shown after a practice item, never after an exam's.
    explanation = models.TextField(blank=True, default="")
    is_practice = models.BooleanField(default=False)
    source_query = models.ForeignKey(Query, null=True, on_delete=models.PROTECT, related_name="+")
    source_passage = models.ForeignKey(
        Passage, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)
    place: int  # of an item that is next in an attempt

    objects = ExamItemQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(label__in=(0, 1)), name="exam_label_is_binary"),
            models.UniqueConstraint(
                fields=["source_query", "source_passage"],
                condition=Q(retired_at=None),
                name="exam_pair_once",
            ),
        ]

    def __str__(self) -> str:
        return f"exam item {self.pk}"


# Fewer say nothing of a person's pace.
_LEAST_ANSWERS = 3


class AttemptState(models.TextChoices):
    """open -> passed or failed, by the last answer; a practice ends as done."""

    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"
    DONE = "done"


class AttemptQuerySet(models.QuerySet["ExamAttempt"]):
    """Vocabulary for reading attempts."""

    def of(self, person: User, domain: Domain) -> Self:
        """The person's attempts in this domain, the latest first."""
        return self.filter(person=person, domain=domain).order_by("-pk")


class ExamAttempt(models.Model):
    """One try at an exam or a practice; kept whatever the result."""

    person = by_person("exam_attempts")
    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="exam_attempts")
    is_practice = models.BooleanField(default=False)
    # Keys of the items in the order in which this person meets them.
    items = models.JSONField(default=list)
    pass_mark = models.PositiveSmallIntegerField(validators=_PERCENT)
    status = models.CharField(max_length=6, choices=AttemptState.choices, default=AttemptState.OPEN)
    right = models.PositiveSmallIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["person", "domain", "is_practice"],
                condition=Q(status=AttemptState.OPEN),
                name="one_open_attempt",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} of {self.person_id}"

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.items)

    @property
    def seconds_left(self) -> float | None:
        """What is left by the median answer so far; None before the third."""
        times = [self.started_at, *self.answers.values_list("created_at", flat=True)]
        gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
        return median(gaps) * (self.size - len(gaps)) if len(gaps) >= _LEAST_ANSWERS else None

    def next_item(self) -> ExamItem | None:
        """The item that comes next, with its `place`; None at the end."""
        given = set(self.answers.values_list("item", flat=True))
        place = next((at for at, pk in enumerate(self.items) if pk not in given), None)
        if place is None:
            return None
        item = ExamItem.objects.get(pk=self.items[place])
        item.place = place
        return item

    @property
    def score(self) -> float | None:
        """Percent right, of an attempt that is over."""
        if self.status == AttemptState.OPEN or not self.items:
            return None
        return float(100 * self.right / len(self.items))


class ExamAnswer(models.Model):
    """One answer of one attempt; never changed."""

    attempt = models.ForeignKey(ExamAttempt, on_delete=models.PROTECT, related_name="answers")
    item = models.ForeignKey(ExamItem, on_delete=models.PROTECT, related_name="given")
    label = models.SmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "item"], name="exam_answer_once"),
            models.CheckConstraint(condition=Q(label__in=(0, 1)), name="exam_answer_is_binary"),
        ]

    def __str__(self) -> str:
        return f"answer {self.pk}"


class ApprovalRecord(models.Model):
    """How a person's earlier work elsewhere was approved; the newest row counts."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="approvals")
    person = by_person("approvals")
    rate = models.DecimalField(max_digits=5, decimal_places=2, validators=_PERCENT)  # percent
    approved = models.PositiveIntegerField()
    imported_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.person}: {self.rate} % of work, {self.approved} approved"


class Recheck(models.Model):
    """Accuracy on checks fell: exams passed before this moment do not count any more."""

    person = by_person("rechecks")
    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="rechecks")
    reason = models.CharField(max_length=300)
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"recheck of {self.person} in {self.domain}"
