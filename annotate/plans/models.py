"""How a benchmark lets people vote: its plan, version by version, and who agreed to what."""

from decimal import Decimal
from functools import cached_property
from typing import Final, Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q

from annotate.exams.models import QualificationRule
from corpus.models import Benchmark
from kit.database.prepared import Prepared
from kit.versioned import by_person

MOST_IN_A_BATCH: Final = 100


class Condition(models.TextChoices):
    """When a voter sees what the agents said."""

    AFTER = "after", "after a first judgment from the passage alone"
    START = "start", "from the start"
    NONE = "none", "never"
    # Every item is given one of the other three conditions at random.
    STUDY = "study", "by chance, one of the three for each item (a study)"


CONDITIONS: Final = (Condition.NONE, Condition.AFTER, Condition.START)


class VotingPlanQuerySet(models.QuerySet["VotingPlan"]):
    """Vocabulary for reading plans."""

    def current(self, benchmark: Benchmark) -> "VotingPlan":
        """The newest version; the default, version 0 and unsaved, where none was written."""
        return _CURRENT.first(benchmark=benchmark.pk) or VotingPlan(benchmark=benchmark, version=0)


class VotingPlan(models.Model):
    """One version of a benchmark's rules of voting. Never changed.

    Without one: no batches, nobody is paid, first the passage alone and then the positions.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="voting_plans")
    version = models.PositiveIntegerField()
    # 0: no batches, every vote counts when it is given.
    batch_size = models.PositiveSmallIntegerField(
        default=0, validators=[MaxValueValidator(MOST_IN_A_BATCH)]
    )
    reveal = models.CharField(max_length=5, choices=Condition.choices, default=Condition.AFTER)
    # Whether "relevant" needs the words of the passage that support it.
    needs_span = models.BooleanField(default=False)
    lease_minutes = models.PositiveSmallIntegerField(
        default=30, validators=[MinValueValidator(1), MaxValueValidator(24 * 60)]
    )
    seconds_per_item = models.PositiveSmallIntegerField(
        default=60, validators=[MinValueValidator(1), MaxValueValidator(3600)]
    )
    hourly_pay = models.DecimalField(
        max_digits=7, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    currency = models.CharField(max_length=3, default="USD")
    # Agreed pairs that people judge blind when a new debate run ends, unless the run says other.
    audit = models.PositiveSmallIntegerField(
        default=0, db_default=0, validators=[MaxValueValidator(1000)]
    )
    # The most that blind audits may leave open of wrong labels in a final release; null: no bar.
    audit_bar = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    # What people agree to before their first batch; empty asks nothing.
    consent_text = models.TextField(blank=True, default="")
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VotingPlanQuerySet.as_manager()

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "version"], name="voting_plan_once"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"

    @cached_property
    def asks_exam(self) -> bool:
        """Whether people must pass an exam before they vote; `current` reads it along."""
        rules = QualificationRule.objects.filter(benchmark=self.benchmark_id, required=True)
        return rules.exists()

    @property
    def has_batches(self) -> bool:
        """Whether votes come in batches that are accepted or rejected as a whole."""
        return self.batch_size > 0

    @property
    def shows_later(self) -> bool:
        """Whether some positions are shown after a first judgment from the passage alone."""
        return self.reveal in (Condition.AFTER, Condition.STUDY)

    @property
    def terms(self) -> tuple[str, Decimal | None, str]:
        """What a consent is given to; another text or pay asks again."""
        return self.consent_text.strip(), self.hourly_pay, self.currency

    def minutes(self, items: int) -> int:
        """Minutes that so many items are expected to take, at least one."""
        return max(1, round(items * self.seconds_per_item / 60))

    def pay(self, items: int) -> Decimal | None:
        """What so many items earn; None where nobody is paid."""
        if self.hourly_pay is None:
            return None
        return (self.hourly_pay * items * self.seconds_per_item / 3600).quantize(Decimal("0.01"))


def _current(benchmark: int) -> VotingPlanQuerySet:
    rules = QualificationRule.objects.filter(benchmark=OuterRef("benchmark"), required=True)
    plans = VotingPlan.objects.filter(benchmark=benchmark)
    plans = plans.annotate(asks_exam=Exists(rules))  # type: ignore[no-redef]
    return plans.order_by("-version")[:1]


_CURRENT = Prepared(_current)  # asked with every vote


class ConsentQuerySet(models.QuerySet["Consent"]):
    """Vocabulary for reading consents."""

    def of(self, person_id: int, benchmark: Benchmark) -> Self:
        """Everything the person agreed to in the benchmark."""
        return self.filter(person=person_id, plan__benchmark=benchmark)


class Consent(models.Model):
    """One person agreed to the terms of one version of the plan. Kept, never changed."""

    person = by_person("consents")
    plan = models.ForeignKey(VotingPlan, on_delete=models.PROTECT, related_name="consents")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ConsentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["person", "plan"], name="consent_once"),
        ]

    def __str__(self) -> str:
        return f"consent {self.pk}"


class AttentionCheckQuerySet(models.QuerySet["AttentionCheck"]):
    """Vocabulary for reading checks."""

    def usable(self, benchmark: Benchmark) -> Self:
        """Checks of the benchmark that may still be put into batches."""
        return self.filter(query__domain__benchmark=benchmark, retired_at=None)


class AttentionCheck(models.Model):
    """A pair whose right answer is known, with arguments that were made about another one.

    `snapshot` is shaped as that of a case, so that a page shows both alike.
    """

    query = models.ForeignKey("corpus.Query", on_delete=models.PROTECT, related_name="+")
    passage = models.ForeignKey("corpus.Passage", on_delete=models.PROTECT, related_name="+")
    snapshot = models.JSONField(default=dict)
    expected = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)

    objects = AttentionCheckQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["query", "passage"], name="one_check_a_pair"),
            models.CheckConstraint(condition=Q(expected__in=(0, 1)), name="check_is_binary"),
        ]

    def __str__(self) -> str:
        return f"check {self.pk}"
