"""Labels that say whether a passage supports one aspect of a query (docs/protocol.md X06).

They are no labels of the query and passage (corpus/judgments): neither ever counts as the other.
"""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from annotate.workspace.models import Aspect, GoldPassage
from corpus.judgments.models import NOTHING_LEFT_OUT, PEOPLE, Judgment, LeftOut
from corpus.models import Benchmark, Passage, Source, Status


class SupportLabelQuerySet(models.QuerySet["SupportLabel"]):
    """Vocabulary for reading labels of support."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every label of the benchmark, on aspects that are there."""
        return self.filter(aspect__query__domain__benchmark=benchmark, aspect__removed_at=None)

    def standing(self, without: LeftOut = NOTHING_LEFT_OUT) -> Self:
        """Labels that count now, or would without some."""
        return self.filter(without.standing)

    def candidates(self, without: LeftOut = NOTHING_LEFT_OUT) -> Self:
        """Standing ones that say yes where the passage is gold of no aspect of the query.

        Of a passage that supports several aspects each is one: an expert chooses.
        """
        assigned = GoldPassage.objects.standing().filter(
            query=OuterRef("aspect__query"), passage=OuterRef("passage")
        )
        return self.standing(without).filter(~Exists(assigned), label=1, aspect__removed_at=None)

    def machine_gold(
        self, without: LeftOut = NOTHING_LEFT_OUT, labels: LeftOut = NOTHING_LEFT_OUT
    ) -> Self:
        """Candidates that support a single aspect of the query, as machines or voters say.

        One aspect a passage holds here too: what conflicts counts once an expert chose; labels of
        the practice model conflict with one another alone. So does a passage that people found not
        relevant for the query at all, given there (`labels` as without some).
        """
        others = SupportLabel.objects.standing(without).filter(
            label=1,
            practice=OuterRef("practice"),
            aspect__removed_at=None,
            aspect__query=OuterRef("aspect__query"),
            passage=OuterRef("passage"),
        )
        refused = Judgment.objects.standing(labels).filter(
            source__in=PEOPLE,
            label__lte=0,
            query=OuterRef("aspect__query"),
            passage=OuterRef("passage"),
        )
        found = self.candidates(without).filter(~Exists(refused))
        return found.exclude(Exists(others.exclude(aspect=OuterRef("aspect"))))


class SupportLabel(models.Model):
    """One label of one (aspect, passage). Added and superseded, never overwritten.

    `aspect_version` is that of the aspect's text when it was asked about; 0: an earlier text.
    """

    aspect = models.ForeignKey(Aspect, on_delete=models.PROTECT, related_name="support_labels")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="support_labels")
    label = models.SmallIntegerField()
    source = models.CharField(max_length=16, choices=Source.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.STANDING)
    round = models.PositiveSmallIntegerField(null=True)
    practice = models.BooleanField(default=False)
    provenance = models.JSONField(default=dict)
    aspect_version = models.PositiveIntegerField()
    superseded_by = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="supersedes"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SupportLabelQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["aspect", "passage"],
                condition=Q(status=Status.STANDING),
                name="one_standing_support",
            ),
            models.CheckConstraint(condition=Q(label__in=(0, 1)), name="support_is_binary"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.label} for {self.passage} and {self.aspect}"

    @property
    def by_people(self) -> bool:
        """Whether people gave it."""
        return self.source in PEOPLE
