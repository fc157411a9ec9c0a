"""What annotators go by, version by version."""

from pathlib import Path
from typing import Final

from django.db import models

from corpus.models import Benchmark
from kit.versioned import by_person

# The guidelines of a benchmark that has none of its own.
_DEFAULT: Final = Path(__file__).resolve().parent / "house.md"


class GuidelineQuerySet(models.QuerySet["Guideline"]):
    """Vocabulary for reading guidelines."""

    def current(self, benchmark: Benchmark) -> "Guideline":
        """The newest version; the default, version 0 and unsaved, where none was written."""
        written = self.filter(benchmark=benchmark).order_by("-version").first()
        default = _DEFAULT.read_text(encoding="utf-8") if written is None else ""
        return written or Guideline(benchmark=benchmark, version=0, text=default)

    def current_version(self, benchmark_id: int) -> int:
        """The number that a decision made now goes by."""
        newest = self.filter(benchmark=benchmark_id).aggregate(models.Max("version"))
        return newest["version__max"] or 0


class Guideline(models.Model):
    """One version of a benchmark's guidelines, in Markdown. Never changed once it is published."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField()
    # What is new in it, for those who know the version before.
    note = models.CharField(max_length=500, blank=True, default="")
    created_by = by_person(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = GuidelineQuerySet.as_manager()

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "version"], name="guideline_once"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"
