"""Reference panels: pairs drawn at random for experts to label; seniors check a part of them."""

from typing import Final, Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from annotate.voting.models import EscalationCase
from corpus.models import Benchmark, Judgment, Pool
from kit.versioned import by_person

MAX_PER_DOMAIN: Final = 2_000
_PERCENT = [MinValueValidator(0), MaxValueValidator(100)]


class PanelStatus(models.TextChoices):
    """preparing -> open when an admin opens it -> closed; reasons are frozen on opening."""

    PREPARING = "preparing"
    OPEN = "open"
    CLOSED = "closed"


class ReferencePanel(models.Model):
    """One reference set: `per_domain` queries of each domain, one random pooled passage of each.

    Never changed but for its state: what was asked of the labellers stands as it was (DREAM,
    docs/protocol.md 2.6).
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="reference_panels"
    )
    name = models.CharField(max_length=120)
    status = models.CharField(
        max_length=9, choices=PanelStatus.choices, default=PanelStatus.PREPARING
    )
    # Empty: every pool that there was when it was drawn.
    pool = models.ForeignKey(Pool, null=True, on_delete=models.PROTECT, related_name="+")
    seed = models.PositiveIntegerField()
    per_domain = models.PositiveSmallIntegerField(
        default=100, validators=[MinValueValidator(1), MaxValueValidator(MAX_PER_DOMAIN)]
    )
    # 2: blind double annotation.
    labels_per_item = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(2)]
    )
    practice_items = models.PositiveSmallIntegerField(default=5, validators=[MaxValueValidator(50)])
    shows_hints = models.BooleanField(default=True)
    check_percent = models.PositiveSmallIntegerField(default=10, validators=_PERCENT)
    # How the draw went, per domain: {"name", "queries", "left_out", "drawn"}.
    drawn = models.JSONField(default=list)
    # Items that nobody had labelled when it was closed.
    dropped = models.PositiveIntegerField(default=0)
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="panel_once"),
            models.CheckConstraint(
                condition=Q(labels_per_item__in=(1, 2)), name="panel_labels_once_or_twice"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        """Whether its items are labelled now."""
        return self.status == PanelStatus.OPEN

    @property
    def is_double(self) -> bool:
        """Whether two experts label each item, blind to each other."""
        return self.labels_per_item == 2


class ReferenceItemQuerySet(models.QuerySet["ReferenceItem"]):
    """Vocabulary for reading items."""

    def without_hints(self) -> Self:
        """Items that no reasons were written for (yet)."""
        return self.filter(hints={})


class ReferenceItem(models.Model):
    """One drawn pair. Its case has vote slots, votes and the frozen snapshot with both reasons."""

    panel = models.ForeignKey(ReferencePanel, on_delete=models.PROTECT, related_name="items")
    case = models.OneToOneField(
        EscalationCase, on_delete=models.PROTECT, related_name="reference_item"
    )
    pool = models.ForeignKey(Pool, null=True, on_delete=models.SET_NULL, related_name="+")
    # Who wrote the reasons, by which prompt: {"model", "endpoint", "prompt_sha256",
    # "prompt_version", "practice", "run"}; empty: none are shown.
    hints = models.JSONField(default=dict)
    in_spot_check = models.BooleanField(default=False)

    objects = ReferenceItemQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"item {self.pk} of panel {self.panel_id}"


class CheckKind(models.TextChoices):
    """What a senior did with an item."""

    KEEP = "keep", "kept"
    OVERRIDE = "override", "overridden"
    # The experts had left it undecided: there was nothing to keep.
    DECIDE = "decide", "decided"


class SpotCheckQuerySet(models.QuerySet["SpotCheck"]):
    """Vocabulary for reading spot checks."""

    def standing(self) -> Self:
        """Those that no later one replaced."""
        return self.filter(is_standing=True)


class SpotCheck(models.Model):
    """A senior's label of one item. A correction is another row that replaces it."""

    item = models.ForeignKey(ReferenceItem, on_delete=models.PROTECT, related_name="checks")
    checker = by_person("spot_checks")
    kind = models.CharField(max_length=8, choices=CheckKind.choices)
    # The experts' label, null where they left it undecided, and the senior's.
    before = models.SmallIntegerField(null=True)
    label = models.SmallIntegerField()
    reason = models.TextField(blank=True, default="")
    # The label that it recorded; a kept one records none.
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="+")
    elapsed_ms = models.PositiveIntegerField(null=True)
    is_standing = models.BooleanField(default=True)
    replaced_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SpotCheckQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["item"], condition=Q(is_standing=True), name="one_standing_check"
            ),
            models.CheckConstraint(condition=Q(label__in=(0, 1)), name="spot_check_is_binary"),
        ]

    def __str__(self) -> str:
        return f"spot check of {self.item}"
